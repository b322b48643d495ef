# PID 1 of one host: a copy-on-write root of its own, then sshd. Its death is the host's loss of power.
# In: LAB, HOST, ADDRESS; $LAB/$HOST/options sets flags (noexec), size (of every small place) and mask (a folder).
set -eu
PATH="$PATH:/usr/sbin:/sbin"
. "$LAB/$HOST/options"

mount --make-rprivate /
ov=$LAB/$HOST/ov
mount -t tmpfs -o "mode=755,size=$size" tmpfs "$ov"
mkdir "$ov/upper" "$ov/work" "$ov/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$ov/upper,workdir=$ov/work" "$ov/root"
cd "$ov/root"
# An overlay shows what lies on the root file system only; a system on several needs the others too.
for place in usr etc bin sbin lib lib64; do
    if [ ! -L "/$place" ] && mountpoint -q "/$place"; then mount --rbind "/$place" "$place"; fi
done

mount -t proc proc proc
mount -t sysfs sysfs sys
# A host may change its NICs; the machine's processors, memory and kernel are not the lab's to change.
mount --bind sys/devices/virtual/net sys/devices/virtual/net
mount -o remount,bind,ro sys
for place in proc/sys/kernel proc/sys/vm proc/sys/fs proc/irq proc/sysrq-trigger; do
    if [ -e "$place" ]; then
        mount --bind "$place" "$place"
        mount -o remount,bind,ro "$place"
    fi
done
mount --rbind /dev dev
if [ -n "$mask" ] && [ -d "./$mask" ]; then mount -t tmpfs tmpfs "./$mask"; fi
places="run:755 tmp:1777 var/tmp:1777 dev/shm:1777 root:700 home:755 opt:755 srv:755 usr/local:755"
for entry in $places; do
    if [ -d "${entry%%:*}" ]; then mount -t tmpfs -o "mode=${entry#*:},size=$size$flags" tmpfs "${entry%%:*}"; fi
done

# sshd wants a place of its own, and a root account that is neither locked nor has files of this machine.
mkdir -p run/sshd run/lab
cp "$LAB/$HOST/etc/"* run/lab/
chmod 600 run/lab/key
echo "root:x:0:0:root:/root:/bin/bash" >"$ov/passwd"
grep -v '^root:' /etc/passwd >>"$ov/passwd"
echo 'root:*:19000:0:99999:7:::' >"$ov/shadow"
grep -v '^root:' /etc/shadow >>"$ov/shadow"
cat "$ov/passwd" >etc/passwd
cat "$ov/shadow" >etc/shadow
echo "127.0.0.1 localhost $HOST" >etc/hosts
echo "$HOST" >etc/hostname
hostname "$HOST"
# Neighbour discovery would put frames of its own on a test link.
echo 1 >proc/sys/net/ipv6/conf/default/disable_ipv6 || true
mkdir .root-before-the-lab
pivot_root . .root-before-the-lab
umount -l /.root-before-the-lab
rmdir /.root-before-the-lab

ip link set lo up
for _ in $(seq 1000); do
    if ip link set eth0 up 2>/dev/null; then break; fi
    sleep .01
done
ip addr add "$ADDRESS/24" dev eth0
cd /
if [ -e /run/lab/fill ]; then
    for place in / /run /tmp /var/tmp /dev/shm /root /home /opt /srv /usr/local; do
        cat /dev/zero >"$place/.full" 2>/dev/null || true
    done
fi
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "FIELDTRIAL_LAB=$LAB" \
    /usr/sbin/sshd -D -e -f /run/lab/sshd_config
