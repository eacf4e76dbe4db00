package fabric

// The causes by what they lead to. The names of variables, files and commands
// are those of NCCL, libfabric, the AWS OFI plugin and Kubernetes.

// otherNetworkCauses: NCCL ran, over another network than the one expected.
func otherNetworkCauses() []CauseInfo {
	return []CauseInfo{
		{
			Cause:  PluginNotFound,
			Why:    "NCCL did not find a network plugin",
			Remedy: "install aws-ofi-nccl in the image and put its lib folder on LD_LIBRARY_PATH; set NCCL_NET_PLUGIN=ofi where the library is called libnccl-net-ofi.so",
			Looks:  "`NET/Plugin: Could not find: libnccl-net.so` (older: `No plugin found`), then `NET/IB : No device found.` and `Using network Socket`. No line begins with `NET/OFI`.",
			About:  "NCCL reaches EFA through a plugin, the library libnccl-net.so of aws-ofi-nccl. It asks the dynamic loader for it, and goes on without a word of warning to InfiniBand and then to TCP if the loader has none. Usual reasons are an image without the plugin, a lib folder that is not on LD_LIBRARY_PATH in the worker's process, and aws-ofi-nccl 1.15 and later built without the symbolic link from libnccl-net.so to libnccl-net-ofi.so.",
			Fix:    "Look for the library in the worker's container: `find / -name 'libnccl-net*' 2>/dev/null`. AWS's EFA installer puts it into `/opt/amazon/ofi-nccl/lib` (before: `/opt/amazon/aws-ofi-nccl`); add that folder to LD_LIBRARY_PATH, or to `/etc/ld.so.conf.d/` and run `ldconfig`. If there is only libnccl-net-ofi.so, set `NCCL_NET_PLUGIN=ofi`. To get an error in place of a silent fallback, set `NCCL_NET=\"AWS Libfabric\"`.",
		},
		{
			Cause:  PluginLoadFailed,
			Why:    "the network plugin could not be loaded",
			Remedy: "make the libraries that the plugin needs loadable (libfabric in /opt/amazon/efa/lib, the CUDA runtime of the right major version)",
			Looks:  "`NET/Plugin: libfabric.so.1: cannot open shared object file`, `undefined symbol`, or ``version `GLIBC_2.34' not found``: the loader names another library than libnccl-net.so, or a symbol.",
			About:  "The plugin is there, and something that it was linked with is not: libfabric, libcudart of another major version, hwloc, or a C library newer than the image's. NCCL prints the loader's message and goes on to TCP.",
			Fix:    "Run `ldd /opt/amazon/ofi-nccl/lib/libnccl-net.so | grep 'not found'` in the container and put the folder of what is missing on LD_LIBRARY_PATH; libfabric is in `/opt/amazon/efa/lib` (or lib64). Where the C library is too old, use a plugin built for the image's distribution.",
		},
		{
			Cause:  PluginTooOld,
			Why:    "the network plugin does not speak an interface of this NCCL",
			Remedy: "upgrade aws-ofi-nccl",
			Looks:  "`External network plugin ... is unsupported` (NCCL 2.28 and later), `Failed to find ncclNetPlugin symbol (>= v5)`, or a run of `Failed to find ncclNetPlugin_v10 symbol.` down to v6 without a `Loaded net plugin` after it.",
			About:  "NCCL and its plugins agree on a version of their interface. NCCL 2.19 needs v5 at least, 2.26 needs v6; a plugin that has none of NCCL's versions is dropped, and NCCL goes on to TCP. One `Failed to find` line alone is normal: NCCL tries the newest version first.",
			Fix:    "Install a newer aws-ofi-nccl (1.5 and later speak v6), for instance by AWS's EFA installer. Check that no older copy comes first: `echo $LD_LIBRARY_PATH` and `find / -name 'libnccl-net*'`. Base images of NVIDIA bring a plugin for other networks under the same name.",
		},
		{
			Cause:  PluginDisabled,
			Why:    "NCCL_NET_PLUGIN switched the network plugin off",
			Remedy: "unset NCCL_NET_PLUGIN, or set it to ofi",
			Looks:  "`NCCL_NET_PLUGIN set by environment to none` (NCCL 2.28 and later) or an empty value; before, NCCL looks for a library called none: `Could not find: none libnccl-net-none.so`.",
			About:  "The value `none`, and from NCCL 2.27 on the empty string too, mean that no plugin is wanted. Without it NCCL cannot use EFA.",
			Fix:    "Find who sets it: `env | grep NCCL` in the container, the image's ENV lines, the job's environment, `/etc/nccl.conf` and `~/.nccl.conf`. Unset it or set it to `ofi`.",
		},
		{
			Cause:  PluginInitFailed,
			Why:    "the network plugin was loaded and could not be initialised",
			Remedy: "read the quoted lines; permissions, and resources of the network cards that other processes hold, are the usual reasons",
			Looks:  "`NET/OFI ... initialization failed` after a line that says what failed (`Couldn't open a fabric access domain. RC: -22`), then `Using network Socket`.",
			About:  "The plugin found its devices and could not use them. NCCL takes that for \"no network of this kind\" and goes on to TCP.",
			Fix:    "Run `fi_info -p efa` and `fi_pingpong -p efa` in the container: they meet the same error without NCCL. Set `FI_LOG_LEVEL=warn` for libfabric's own words, which go to standard error. Check that `/dev/infiniband/uverbs*` can be opened and that no other process holds the cards.",
		},
		{
			Cause:  LockedMemory,
			Why:    "the network plugin could not lock or register memory",
			Remedy: "raise the limit on locked memory (ulimit -l unlimited) and give the containers IPC_LOCK and huge pages",
			Looks:  "A line of `NET/OFI` with `RC: -12` or `Cannot allocate memory`, then `initialization failed`.",
			About:  "RDMA needs memory that stays where it is. The limit on locked memory is 64 KiB or 8 MiB in many containers, and libfabric's EFA provider takes huge pages besides. That this was the reason is inferred from the error code.",
			Fix:    "Check `ulimit -l` in the worker's process: it should say unlimited. In Kubernetes add the capability IPC_LOCK (`securityContext.capabilities.add: [IPC_LOCK]`) and request `hugepages-2Mi`; for containers started by hand use `--ulimit memlock=-1`.",
		},
		{
			Cause:  NoEFADevice,
			Why:    "the OFI plugin was loaded, found no EFA device and gave up",
			Remedy: "request vpc.amazonaws.com/efa in the worker pods and run the EFA device plugin; check with fi_info -p efa in the pod",
			Looks:  "`NET/OFI No eligible providers were found` (before plugin 1.14: `fi_getinfo() call failed: No data available`), then `NET/OFI aws-ofi-nccl initialization failed` and `Using network Socket`. The first line alone is no failure: the plugin tries two protocols.",
			About:  "The software is complete and sees no device. In Kubernetes a pod has EFA only if it requests it; on EC2 the interface has to be made with the instance. A value of FI_PROVIDER or FI_EFA_IFACE that fits nothing looks the same.",
			Fix:    "Run `ls /dev/infiniband` and `fi_info -p efa` in the worker's container. Nothing there: add `vpc.amazonaws.com/efa: 1` (as many as the instance has) to the worker's limits and check that the node offers it, `kubectl get nodes -o custom-columns=N:.metadata.name,EFA:.status.allocatable.vpc\\.amazonaws\\.com/efa`. If the node offers none, the EFA device plugin does not run or the instance was launched without EFA interfaces.",
		},
		{
			Cause:  NoIBDevice,
			Why:    "NCCL found no InfiniBand or RoCE device",
			Remedy: "give the containers the RDMA devices (/dev/infiniband) and install libibverbs",
			Looks:  "`NET/IB : No device found.` or `Failed to open libibverbs.so`, then `Using network Socket`. A line `NET/IB : Using [RO]; OOB eth0...` without a device in brackets says the same.",
			About:  "NCCL loads libibverbs and lists devices whose link layer is InfiniBand or Ethernet. EFA is neither; it needs the OFI plugin.",
			Fix:    "Run `ibv_devinfo` in the container. Request the RDMA resource of your cluster's device plugin, mount `/dev/infiniband`, and install `libibverbs1` and the provider for the card (`ibverbs-providers`). `NCCL_IB_HCA` must name devices that exist.",
		},
		{
			Cause:  IBDisabled,
			Why:    "NCCL_IB_DISABLE switched InfiniBand and RoCE off",
			Remedy: "unset NCCL_IB_DISABLE",
			Looks:  "`NCCL_IB_DISABLE set by environment to 1.`, then `Using network Socket`.",
			About:  "Many images and recipes set it for machines without InfiniBand. It has no effect on EFA.",
			Fix:    "Unset it in the job's environment, the image and `/etc/nccl.conf`.",
		},
		{
			Cause:  ProviderNotEFA,
			Why:    "the OFI plugin runs over another libfabric provider than EFA",
			Remedy: "unset FI_PROVIDER or set it to efa, and give the worker pods EFA devices",
			Looks:  "`NET/OFI Selected provider is tcp, fabric is 10.0.0.0/16 (found 1 nics)` and edges `via NET/Libfabric/0`. NCCL still says `Using network Libfabric`.",
			About:  "libfabric has many providers, plain TCP among them. The plugin asks for EFA alone only on AWS and where FI_PROVIDER is unset (`Setting provider_filter to efa`). In all other cases it takes what libfabric offers, and NCCL cannot tell the difference.",
			Fix:    "`env | grep FI_` in the container; unset FI_PROVIDER or set it to `efa`. If it was unset, the plugin did not take the machine for AWS (`Plugin selected platform: Default`): use AWS's build of the plugin. Then check the devices with `fi_info -p efa`.",
		},
		{
			Cause:  LibfabricWithoutCUDA,
			Why:    "the OFI plugin gave up because it could not use GPUDirect RDMA",
			Remedy: "use the libfabric of AWS's EFA installer, which is built with CUDA, and unset FI_EFA_USE_DEVICE_RDMA",
			Looks:  "`NET/OFI GDR disabled on GDR-supported instance type p5.48xlarge`, `FI_OPT_EFA_EMULATED_WRITE is true`, or `Creating new endpoint for domain ... failed`, then `initialization failed`.",
			About:  "On types with GPUDirect RDMA the plugin refuses to run without it. The libfabric of a Linux distribution is mostly built without CUDA; FI_EFA_USE_DEVICE_RDMA=0 switches the hardware's RDMA off.",
			Fix:    "Make `/opt/amazon/efa/lib` come first on LD_LIBRARY_PATH (`ldd .../libnccl-net.so | grep fabric` shows which one is used). Unset FI_EFA_USE_DEVICE_RDMA. Check that `nvidia_peermem` or `efa_nv_peermem` is loaded on the node, or that the driver offers DMA-BUF. OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK=1 lets it run slowly.",
		},
		{
			Cause:  NetForcedSocket,
			Why:    "NCCL was told to use sockets (NCCL_NET=Socket)",
			Remedy: "unset NCCL_NET in the job's environment, in the image and in nccl.conf",
			Looks:  "`NET/Socket : Using ...` without any `NET/IB` line before it (NCCL 2.28.7 and later), or a plugin that was initialised without an error and then not used (2.13 to 2.28.3). No version prints NCCL_NET itself, so this is inferred, unless `netName reset to NCCL_NET=Socket` is there.",
			About:  "NCCL_NET, or netName in the communicator's configuration, names the one network that may be used. A real fallback asks for InfiniBand first and says so.",
			Fix:    "`env | grep NCCL_NET` in the worker's process, `cat /etc/nccl.conf ~/.nccl.conf`, and the image's ENV lines; unset it. On Ray look into the runtime environment's `env_vars` too.",
		},
		{
			Cause:  OtherNetwork,
			Why:    "NCCL used another network than the one expected",
			Remedy: "expect the network that the cluster has, or change NCCL_NET",
			Looks:  "Edges over a network that works, `via NET/IB/0/GDRDMA` say, where another was expected.",
			About:  "Nothing is broken: cluster and expectation differ.",
			Fix:    "Pass `--expect` with what the cluster has (efa, ib, rdma, socket), or `--expect any` to see what there is.",
		},
		{
			Cause:  UnexplainedFallback,
			Why:    "NCCL fell back to sockets and the log does not say why",
			Remedy: "run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET,ENV; check that NCCL_NET_PLUGIN is not empty",
			Looks:  "Edges `via NET/Socket` and no line of `NET/Plugin` or `NET/OFI`.",
			About:  "The lines that tell how the network was chosen are missing: filtered by NCCL_DEBUG_SUBSYS, lost, or never printed because NCCL_NET_PLUGIN is the empty string, which NCCL 2.27 takes for \"no plugin\".",
			Fix:    "Run again with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV` and keep the whole output. Check `env | grep NCCL_NET_PLUGIN`.",
		},
		{
			Cause:  MixedNetworks,
			Why:    "ranks of one communicator use different networks and cannot talk to each other",
			Remedy: "give all ranks the same image, environment and devices; see the processes for who differs",
			Looks:  "`Using network Libfabric` in some ranks and `Using network Socket` in others; often a hang with a flood of `socketFinalizeAccept: didn't receive a valid magic`, or from NCCL 2.30 on `Detected mixed local Net device counts`.",
			About:  "NCCL does not compare the networks' names between ranks. Each plans its channels, and the first collective waits for ever: the handles of one network mean nothing to another. Usually one node or one pod fell back and the others did not.",
			Fix:    "The table of processes names the ranks that differ, and why each of them does: treat that cause on that node. Compare images (`kubectl get pods -o jsonpath='{..imageID}'`), environments and `fi_info -p efa` of a good and a bad node.",
		},
	}
}

// noStartCauses: no communicator came to be.
func noStartCauses() []CauseInfo {
	return []CauseInfo{
		{
			Cause:  RequestedNetUnavailable,
			Why:    "NCCL was told to use a network that it could not initialise",
			Remedy: "make the network that NCCL_NET names available, or unset NCCL_NET",
			Looks:  "`Failed to initialize any NET plugin` (2.27 and later) or `Error: network AWS Libfabric not found.`, then PyTorch's DistBackendError with `invalid usage`.",
			About:  "NCCL_NET names one network, and NCCL stops rather than take another. That is the good way to turn a silent fallback into an error.",
			Fix:    "The lines before it tell why the network could not be had (no device, no plugin): treat that. Check the spelling: the plugin is called `AWS Libfabric` up to 1.12 and answers to that name later too.",
		},
		{
			Cause:  BootstrapFailed,
			Why:    "NCCL found no interface to start over",
			Remedy: "set NCCL_SOCKET_IFNAME to an interface that the nodes share, or unset it",
			Looks:  "`Bootstrap : no socket interface found`, or connects to an address that are retried until NCCL gives up.",
			About:  "Ranks find each other over TCP whatever network carries the data. NCCL_SOCKET_IFNAME that fits no interface, an interface that others cannot reach (docker0, lo), or a firewall stop that.",
			Fix:    "`ip -br addr` in two containers shows what they share; set `NCCL_SOCKET_IFNAME=eth0`, or `^lo,docker` to leave some out, or unset it. Check security groups and NetworkPolicies for all TCP ports between the nodes.",
		},
		{
			Cause:  VersionMismatch,
			Why:    "ranks use different versions of NCCL",
			Remedy: "give all ranks the same image",
			Looks:  "`Mismatched NCCL version detected : rank 0 version 22809 rank 1 version 22705`.",
			About:  "Ranks of one communicator must run the same NCCL. Different images on the nodes, or a second NCCL on LD_LIBRARY_PATH of some, are the usual reasons.",
			Fix:    "Compare `python -c 'import torch; print(torch.cuda.nccl.version())'` and `find / -name 'libnccl.so*'` on both nodes, and pin the image by its digest.",
		},
		{
			Cause:  NetworkError,
			Why:    "connections over the network failed",
			Remedy: "look at the peer that the quoted lines name: it may have died first",
			Looks:  "`socketProgress: Connection closed by remote peer`, `Connect to ... failed`, `completed with error`, before all ranks had connected.",
			About:  "A peer that died closes its connections, and the others report the network. Firewalls and wrong routes look alike.",
			Fix:    "Read the log of the peer that is named: its first error is the cause. If it has none, test the way between the two nodes: `nc -zv ADDRESS PORT` for TCP, `fi_pingpong -p efa` for EFA.",
		},
		{
			Cause:  SecurityGroup,
			Why:    "packets do not reach the peer, as where a security group drops them",
			Remedy: "allow all traffic within the nodes' security group, in and out",
			Looks:  "`NET/OFI Request ... completed with error. RC: 103. Error: 4126 (Unresponsive receiver ...)`, or the plugin's banner on security groups.",
			About:  "EFA's traffic is not TCP: a rule for ports does not let it pass. The security group must allow all traffic from itself and, which is often forgotten, to itself. A peer that crashed looks the same.",
			Fix:    "`aws ec2 describe-security-groups --group-ids SG`: there must be a rule with protocol -1 and the group itself as source in IpPermissions, and the same in IpPermissionsEgress. All nodes must use it, in one zone.",
		},
		{
			Cause:  Timeout,
			Why:    "PyTorch's watchdog gave up waiting for a collective",
			Remedy: "look for the rank that did not come (its stack, its errors); a slow data loader looks alike",
			Looks:  "`Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, ...)`.",
			About:  "A rank did not come to a collective, or the network moved nothing. SeqNum=1 means that the very first one hung, as with ranks on different networks; a high number speaks for the program: an exception in one rank, a different number of batches, a slow loader.",
			Fix:    "Find the rank without that message: it is the one to look at (`py-spy dump --pid PID`). Set `TORCH_NCCL_TRACE_BUFFER_SIZE=2000` and `TORCH_NCCL_DUMP_ON_TIMEOUT=1` for PyTorch's own record of who waited for whom.",
		},
	}
}

// gapCauses: what is missing for a proof.
func gapCauses() []CauseInfo {
	return []CauseInfo{
		{
			Cause:  CountersFlat,
			Why:    "the network cards did not count what the log says they carried",
			Remedy: "check that the counters are those of the machines that ran the job, and judge again after some steps",
			Looks:  "Edges over EFA, and `tx_bytes` and `rdma_write_bytes` of the machine's cards no larger after the job than before, or by less than the program sent.",
			About:  "Edges show what was connected, not what was sent. A job that has not begun its steps has sent nothing. If it has, the cards that were read are not those that the pod used.",
			Fix:    "Compare the devices: `ls /sys/class/infiniband` on the node and in the pod. Read them during a step: `grep . /sys/class/infiniband/*/ports/1/hw_counters/{tx_bytes,rdma_write_bytes}`.",
		},
		{
			Cause:  MNNVLOnly,
			Why:    "the machines are joined by NVLink, so no network was used",
			Remedy: "expect any or rdma, or use more machines than one NVLink domain has",
			Looks:  "`MNNVL 1` on the communicator's line and edges `via P2P/MNNVL` between hosts; no edge `via NET`.",
			About:  "On GB200 NVL72 and its like NVLink leads from machine to machine, and NCCL uses it in place of the network. That is faster than any network and proves nothing of one. NCCL counts the whole NVLink domain as one node.",
			Fix:    "Nothing is wrong: `--expect rdma` and `--expect any` accept it. To try the network set `NCCL_MNNVL_ENABLE=0` for a test, or run over more than one domain.",
		},
		{
			Cause:  NoGPU,
			Why:    "there is no GPU",
			Remedy: "run on machines with GPUs to prove a network",
			Looks:  "No line of NCCL, and a cluster without GPUs.",
			About:  "PyTorch uses gloo on CPUs, which NCCL knows nothing of.",
			Fix:    "Run on machines with GPUs. If there should be some: `nvidia-smi` on the node, and `nvidia.com/gpu` among the node's allocatable resources.",
		},
		{
			Cause:  SingleNode,
			Why:    "all ranks were on one node, so the network was not used",
			Remedy: "run on two nodes or more",
			Looks:  "`nNodes 1` on the communicator's line and edges over P2P or SHM only. `Using network Libfabric` may be there nevertheless.",
			About:  "NCCL picks a network in any case and uses it between nodes only. A run within a node says nothing of it. Several pods on one machine with one NCCL_HOSTID count as one node too.",
			Fix:    "Run on two nodes at least: `cluster.nodes: 2`, or a placement that spreads the workers. In Ray use the strategy STRICT_SPREAD or SPREAD.",
		},
		{
			Cause:  NoNCCLOutput,
			Why:    "the logs hold no line of NCCL",
			Remedy: "set NCCL_DEBUG=INFO for the workers; check NCCL_DEBUG_FILE",
			Looks:  "No line with `NCCL INFO` or `NCCL WARN` in any file.",
			About:  "NCCL is silent unless NCCL_DEBUG is set in the process that loads it, which is the worker, not the driver. NCCL_DEBUG_FILE sends its lines elsewhere. Output that was buffered by a process that got killed is lost.",
			Fix:    "Set `NCCL_DEBUG=INFO` for the workers (Ray: `runtime_env.env_vars`; Kubernetes: the container's env). If NCCL_DEBUG_FILE is set, give those files to verify.",
		},
		{
			Cause:  DebugTooLow,
			Why:    "NCCL printed no more than its version or warnings",
			Remedy: "set NCCL_DEBUG=INFO for the workers",
			Looks:  "One line, `NCCL version 2.28.9+cuda13.0`, and perhaps `NCCL WARN` lines; in one rank's file only, perhaps.",
			About:  "With NCCL_DEBUG=VERSION or WARN nothing is said of networks. Since NCCL 2.22 that line stands alone only where the level is that low.",
			Fix:    "Set `NCCL_DEBUG=INFO` for all workers. It costs some hundred lines a rank at the start and nothing later.",
		},
		{
			Cause:  SubsysFiltered,
			Why:    "NCCL's lines about initialisation are filtered out",
			Remedy: "unset NCCL_DEBUG_SUBSYS, or set it to INIT,NET,ENV",
			Looks:  "`NCCL INFO` lines, and none about a communicator (`Init START`, `nNodes`).",
			About:  "NCCL_DEBUG_SUBSYS replaces the default, it does not add to it: `NCCL_DEBUG_SUBSYS=COLL` hides every line on networks.",
			Fix:    "Unset it, or set `NCCL_DEBUG_SUBSYS=INIT,NET,ENV` (with BOOTSTRAP from NCCL 2.23 on).",
		},
		{
			Cause:  ProviderMissing,
			Why:    "edges use Libfabric and no line tells its provider",
			Remedy: "keep the whole output of the workers at NCCL_DEBUG=INFO",
			Looks:  "Edges `via NET/Libfabric/0`, and no `NET/OFI Selected provider is ...` in that process, or two that differ; or one such line for several processes that share host and id.",
			About:  "Libfabric may run over TCP, and NCCL prints the same edges then. Only the plugin's line tells, once a process, at its start. Containers of one name and process id, and one that is started anew, look like one process in a common file.",
			Fix:    "Keep each worker's output from the first line on. Logs that were rotated or followed late (`kubectl logs --tail`) lack it.",
		},
		{
			Cause:  RanksMissing,
			Why:    "not all ranks are in the logs",
			Remedy: "add the logs of the other ranks",
			Looks:  "A communicator of 16 ranks, and lines of 12 of them; a process that begins (`Bootstrap: Using ...`, `Using network ...`) and names no communicator; fewer nodes than the job has.",
			About:  "One rank that fell back is enough to slow a job down or hang it, so every one has to be seen. Ray's driver log, and the console of one node, show some ranks only.",
			Fix:    "The summary names the ranks. Give verify all workers' files: a Ray session's `logs` folder of each node (`/tmp/ray/session_latest/logs`), or `kubectl logs` of all pods. On large jobs let NCCL write a file a process: `NCCL_DEBUG_FILE=/shared/nccl.%h.%p.log`.",
		},
		{
			Cause:  EdgesMissing,
			Why:    "not all edges are in the logs",
			Remedy: "wait for the first collective, and keep the whole output of all ranks",
			Looks:  "A communicator without `Channel ... via` lines, or with some of them missing at one end; `Using network ...` after which no communicator is named; the log of one rank in several files.",
			About:  "Since NCCL 2.22 connections are made at the first collective, and a communicator that no collective used has none: in the log it looks like one of which every such line is lost, so it cannot count as proven. Output that is buffered comes late, and its tail is lost when the process is killed. What is missing could have been another network.",
			Fix:    "Run until the first step is done. Set `PYTHONUNBUFFERED=1`, or NCCL_DEBUG_FILE, which is written line by line. Put the parts of a rank's log that was rotated together again, in order. A communicator that the program makes eagerly (PyTorch: `device_id` of `init_process_group`, which every `new_group` follows) and never uses: do not make it eagerly, or run one collective on it, `torch.distributed.barrier(group)` for instance. The summary names it.",
		},
		{
			Cause:  LogTruncated,
			Why:    "a log was cut off",
			Remedy: "raise the limit, or judge the whole files",
			Looks:  "A file of which only a part was read, or a line longer than is looked at.",
			About:  "The rest may hold anything.",
			Fix:    "Judge the files where they were written. In Kubernetes the kubelet rotates at 10 MiB (`containerLogMaxSize`): the older pieces lie beside the newest under `/var/log/pods`.",
		},
		{
			Cause:  LogsDeduplicated,
			Why:    "lines were folded by Ray's de-duplication",
			Remedy: "set RAY_DEDUP_LOGS=0, or judge the workers' own files",
			Looks:  "`[repeated 7x across cluster]` at the end of lines.",
			About:  "Ray's driver folds lines that differ in words with digits only. `via NET/Socket/0` and `via NET/Libfabric/0/GDRDMA` are such words: an edge over TCP can vanish behind one over EFA.",
			Fix:    "Set `RAY_DEDUP_LOGS=0` for the driver, or judge `worker-*.out` under `/tmp/ray/session_latest/logs` of each node, which are never folded.",
		},
		{
			Cause:  EdgesUnreadable,
			Why:    "some channel lines could not be read",
			Remedy: "keep each rank's output in a file of its own (NCCL_DEBUG_FILE with %h and %p)",
			Looks:  "Half lines: `Channel 03/0 : 3[1] -> 0[0] [rece`.",
			About:  "Processes that share a pipe cut into each other's lines, and ranks that share one NCCL_DEBUG_FILE overwrite each other.",
			Fix:    "Set `NCCL_DEBUG_FILE=/path/nccl.%h.%p.log`, or give each process an output of its own (`torchrun --redirects 3 --log-dir logs`, `srun -o out.%t`).",
		},
	}
}

// warningCauses: the network is the expected one, and could be faster.
func warningCauses() []CauseInfo {
	return []CauseInfo{
		{
			Cause:  RailsMissing,
			Why:    "fewer network cards are used than the machines have",
			Remedy: "request all EFA interfaces of the instance type for the worker pods",
			Looks:  "`Selected provider is efa, fabric is efa (found 4 nics)` on a p5.48xlarge, which has 32; different numbers on ranks of one node; or edges on some devices only.",
			About:  "Bandwidth grows with the number of cards, and each GPU has its own beside it. A pod gets as many as it requests, an instance as many as it was launched with.",
			Fix:    "Set `vpc.amazonaws.com/efa` to the number of the instance type: `aws ec2 describe-instance-types --instance-types TYPE --query 'InstanceTypes[].NetworkInfo.EfaInfo'`. One pod a node with all GPUs and all cards works best. Check `fi_info -p efa | grep -c domain` in the pod.",
		},
		{
			Cause:  GDRMissing,
			Why:    "GPUDirect RDMA is not used where the machines have it",
			Remedy: "load efa_nv_peermem or use a driver with DMA-BUF, and the libfabric of AWS's EFA installer",
			Looks:  "Edges `via NET/Libfabric/0` without `/GDRDMA` on p4d, p5 or p6; `Need to force simple protocol: GDR not supported`; or `/GDRDMA` at one end of an edge only. `GDR 0` in the ring's summary says nothing.",
			About:  "Without it data goes through the host's memory, at a fraction of the speed. g4dn, g5, g6 and p3dn do without by design.",
			Fix:    "On the node: `lsmod | grep -e peermem -e efa`, and `modinfo efa`. Use a current EFA driver and installer, NVIDIA's open kernel modules for DMA-BUF, and do not set OFI_NCCL_DISABLE_DMABUF or NCCL_NET_GDR_LEVEL. In virtual machines the PCIe switches' ACS setting can forbid it.",
		},
	}
}
