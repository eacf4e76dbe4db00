#!/bin/bash
# The first process of a node: with it ends, whatever happens, all that runs on the
# node. It has process and mount namespaces of its own, and so the usual folders of
# containerd and of the kubelet are the node's, not the machine's.
#
# usage: node.sh FOLDER KUBELET-FLAG...
# In FOLDER are containerd.toml, image.tar, kubelet.yaml; sysctl and the node's disk come to it.
set -euo pipefail
folder=$1
shift
cd "$folder"

mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs run /run
for dir in lib log; do
	mkdir -p "$dir"
	mount --bind "$dir" "/var/$dir"
done

# These a kubelet sets for the machine that it is alone on.
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
	kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
	mkdir -p "sysctl/$(dirname "$setting")"
	cat "/proc/sys/$setting" >"sysctl/$setting"
	mount --bind "sysctl/$setting" "/proc/sys/$setting"
done

containerd --config containerd.toml &
until ctr version >/dev/null 2>&1; do
	kill -0 $!
	sleep 0.1
done
ctr --namespace k8s.io images import --local image.tar
kubelet --config=kubelet.yaml "$@" &
wait -n
echo "node: containerd or the kubelet has ended"
exit 1
