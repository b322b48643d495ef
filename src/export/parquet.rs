//! A sheet as a Parquet file, whose columns have the sheet's types.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::evidence::sheet::{Column, Kind, Sheet, original};

/// Rows in one group; a reader holds one group at a time.
const ROWS: usize = 65_536;

/// Why a sheet cannot be written as Parquet.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("expected a table that Parquet can hold, found: {0}")]
    Parquet(#[from] ParquetError),
    #[error("expected a table as we write it, found: {0}")]
    Csv(#[from] csv::Error),
}

/// The whole file. Every column may be null, which is what an empty field of the CSV is. Unit and meaning of the
/// columns lie beside the data, under `fieldtrial.unit.HEADING` and `fieldtrial.meaning.HEADING`. Texts are the
/// originals, without the apostrophe that keeps spreadsheets from running them.
///
/// # Errors
/// A fault of ours: a sheet whose fields are not of their columns' types.
pub fn parquet(sheet: Sheet) -> Result<Vec<u8>, Fault> {
    let columns = sheet.head.columns.clone();
    let name = sheet.head.file.trim_end_matches(".csv").to_owned();
    let text = sheet.csv();
    let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>, _>>()?;
    let schema = Arc::new(Type::group_type_builder(&name).with_fields(fields).build()?);
    let about = columns.iter().flat_map(|c| {
        let of = |key: &str, value: &str| {
            KeyValue::new(format!("fieldtrial.{key}.{}", c.heading()), value.to_owned())
        };
        [of("unit", &c.unit), of("meaning", &c.meaning)]
    });
    let properties = WriterProperties::builder().set_key_value_metadata(Some(about.collect())).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut records = reader.records();
    loop {
        let rows = records.by_ref().take(ROWS).collect::<Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        for (at, column) in columns.iter().enumerate() {
            let Some(mut into) = group.next_column()? else { break };
            write(&mut into, column.kind, rows.iter().map(|row| &row[at]))?;
            into.close()?;
        }
        group.close()?;
    }
    Ok(writer.into_inner()?)
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let nanoseconds = LogicalType::timestamp(true, TimeUnit::NANOS);
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Boolean => (Physical::BOOLEAN, None),
        Kind::Instant => (Physical::INT64, Some(nanoseconds)),
    };
    let heading = column.heading();
    let builder = Type::primitive_type_builder(&heading, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

fn write<'a>(
    into: &mut SerializedColumnWriter,
    kind: Kind,
    fields: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Fault> {
    let levels: Vec<i16> = fields.clone().map(|field| i16::from(!field.is_empty())).collect();
    let levels = Some(levels.as_slice());
    let there = fields.filter(|field| !field.is_empty());
    let wrong = |field: &str| ParquetError::General(format!("{field} is no {}", kind.name()));
    match kind {
        Kind::Text => {
            let values: Vec<ByteArray> = there.map(|text| ByteArray::from(original(text))).collect();
            into.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
        }
        Kind::Integer => {
            let values = there.map(|n| n.parse().map_err(|_| wrong(n))).collect::<Result<Vec<i64>, _>>()?;
            into.typed::<Int64Type>().write_batch(&values, levels, None)?;
        }
        Kind::Number => {
            let values = there.map(|n| n.parse().map_err(|_| wrong(n))).collect::<Result<Vec<f64>, _>>()?;
            into.typed::<DoubleType>().write_batch(&values, levels, None)?;
        }
        Kind::Boolean => {
            let values = there.map(|n| n.parse().map_err(|_| wrong(n))).collect::<Result<Vec<bool>, _>>()?;
            into.typed::<BoolType>().write_batch(&values, levels, None)?;
        }
        Kind::Instant => {
            let nanoseconds = |at: &str| {
                let at: jiff::Timestamp = at.parse().map_err(|_| wrong(at))?;
                i64::try_from(at.as_nanosecond()).map_err(|_| wrong("an instant after the year 2262"))
            };
            let values = there.map(nanoseconds).collect::<Result<Vec<i64>, _>>()?;
            into.typed::<Int64Type>().write_batch(&values, levels, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    #[test]
    fn a_sheet_reads_back_with_types_nulls_and_original_texts() {
        let columns = vec![
            Column::text("cell", "id"),
            Column::number("wall_time", "s", "time"),
            Column::integer("n", "", "count"),
            Column::of(Kind::Boolean, "settling", "", "warm-up"),
            Column::of(Kind::Instant, "at", "", "when"),
        ];
        let at = "2026-11-30T10:00:00.000000005Z";
        let rows = [
            vec!["=cmd".into(), (0.1 + 0.2).into(), 7_u32.into(), true.into(), at.into()],
            vec!["'quoted".into(), None::<f64>.into(), None::<u32>.into(), false.into(), "".into()],
        ];
        let file = parquet(Sheet::new("runs.csv", columns, rows)).expect("a file");
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("it is Parquet");
        let about = reader.metadata().file_metadata().key_value_metadata().expect("what columns mean");
        let unit = about.iter().find(|kv| kv.key == "fieldtrial.unit.wall_time (s)").expect("the unit");
        assert_eq!(unit.value.as_deref(), Some("s"));
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row").get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        assert_eq!(rows[0][0], Field::Str("=cmd".into()));
        assert_eq!(rows[0][1], Field::Double(0.1 + 0.2));
        assert_eq!(rows[0][2], Field::Long(7));
        assert_eq!(rows[0][3], Field::Bool(true));
        assert_eq!(rows[1][0], Field::Str("'quoted".into()));
        assert_eq!((&rows[1][1], &rows[1][2], &rows[1][4]), (&Field::Null, &Field::Null, &Field::Null));
    }
}
