# PID 1 of a lab's sandbox: network, mount and PID namespace of its own, no route out. Its death ends all.
# In: LAB (folder of this lab), HOSTS ("h1=198.18.0.11 h2=..."), CABLES ("h1:test0=h2:test0 ..."), HIDE (a folder).
set -eu
PATH="$PATH:/usr/sbin:/sbin"

# Locks, sockets and leases of this machine are not those of the lab; NICs in sysfs must be ours.
mount -t tmpfs -o mode=755 tmpfs /run
mount -t sysfs sysfs /sys
if [ -n "$HIDE" ] && [ -d "$HIDE" ]; then mount -t tmpfs -o mode=700 tmpfs "$HIDE"; fi
ip link set lo up
ip link add labbr0 type bridge
ip addr add 198.18.0.1/24 dev labbr0
ip link set labbr0 up

child_of() {
    local child=""
    for _ in $(seq 500); do
        read -r child _ <"/proc/$1/task/$1/children" || true
        if [ -n "$child" ]; then echo "$child"; return; fi
        sleep .01
    done
    echo "the host of process $1 did not start" >&2
    return 1
}

declare -A init
for entry in $HOSTS; do
    host=${entry%%=*}
    HOST=$host ADDRESS=${entry#*=} unshare --net --mount --uts --ipc --pid --fork --kill-child=KILL \
        bash "$LAB/host.sh" >"$LAB/$host/log" 2>&1 </dev/null &
    init[$host]=$(child_of $!)
    ip link add "lab$host" type veth peer name eth0 netns "${init[$host]}"
    ip link set "lab$host" master labbr0 up
done
for cable in $CABLES; do
    a=${cable%%=*} b=${cable#*=}
    ip link add "${a#*:}" netns "${init[${a%%:*}]}" type veth peer name "${b#*:}" netns "${init[${b%%:*}]}"
    nsenter -t "${init[${a%%:*}]}" -n ip link set "${a#*:}" up
    nsenter -t "${init[${b%%:*}]}" -n ip link set "${b#*:}" up
done
for entry in $HOSTS; do
    host=${entry%%=*}
    for _ in $(seq 1500); do
        if grep -q "Server listening" "$LAB/$host/log"; then continue 2; fi
        if [ ! -d "/proc/${init[$host]}" ]; then break; fi
        sleep .01
    done
    echo "host $host does not listen; its log:" >&2
    cat "$LAB/$host/log" >&2
    exit 1
done
echo ready

# Stays as the init that reaps whatever loses its parent here.
set +e
while :; do wait -n 2>/dev/null; sleep 1; done
