package fabric

// Cause names why a verdict is not PASS. The names are stable: documentation
// and scripts refer to them.
type Cause string

// Causes of FAIL: why the network is not the expected one.
const (
	PluginNotFound          Cause = "plugin-not-found"
	PluginLoadFailed        Cause = "plugin-load-failed"
	PluginTooOld            Cause = "plugin-too-old"
	PluginDisabled          Cause = "plugin-disabled"
	PluginInitFailed        Cause = "plugin-init-failed"
	NoEFADevice             Cause = "no-efa-device"
	NoIBDevice              Cause = "no-ib-device"
	IBDisabled              Cause = "ib-disabled"
	ProviderNotEFA          Cause = "provider-not-efa"
	LibfabricWithoutCUDA    Cause = "libfabric-without-cuda"
	NetForcedSocket         Cause = "net-forced-socket"
	RequestedNetUnavailable Cause = "requested-net-unavailable"
	BootstrapFailed         Cause = "bootstrap-failed"
	MixedNetworks           Cause = "mixed-networks"
	OtherNetwork            Cause = "other-network"
	UnexplainedFallback     Cause = "unexplained-fallback"
)

// Causes of UNKNOWN: what is missing for a proof.
const (
	NetworkError     Cause = "network-error"
	NoGPU            Cause = "no-gpu"
	SingleNode       Cause = "single-node"
	NoNCCLOutput     Cause = "no-nccl-output"
	DebugTooLow      Cause = "nccl-debug-too-low"
	SubsysFiltered   Cause = "nccl-subsys-filtered"
	ProviderMissing  Cause = "provider-missing"
	RanksMissing     Cause = "ranks-missing"
	EdgesMissing     Cause = "edges-missing"
	LogTruncated     Cause = "log-truncated"
	LogsDeduplicated Cause = "log-deduplicated"
	EdgesUnreadable  Cause = "edges-unreadable"
)

// CauseInfo explains a cause.
type CauseInfo struct {
	Cause Cause
	// Why continues a sentence about the ranks; Remedy says what to do.
	Why, Remedy string
}

// Causes lists all causes with their explanations.
func Causes() []CauseInfo {
	return []CauseInfo{
		{PluginNotFound, "NCCL did not find a network plugin", "install aws-ofi-nccl in the image and put its lib folder on LD_LIBRARY_PATH; set NCCL_NET_PLUGIN=ofi where the library is called libnccl-net-ofi.so"},
		{PluginLoadFailed, "the network plugin could not be loaded", "make the libraries that the plugin needs loadable (libfabric in /opt/amazon/efa/lib, the CUDA runtime of the right major version)"},
		{PluginTooOld, "the network plugin does not speak an interface of this NCCL", "upgrade aws-ofi-nccl"},
		{PluginDisabled, "NCCL_NET_PLUGIN switched the network plugin off", "unset NCCL_NET_PLUGIN, or set it to ofi"},
		{PluginInitFailed, "the network plugin was loaded and could not be initialised", "read the quoted lines; locked memory (ulimit -l unlimited, IPC_LOCK) and permissions are the usual reasons"},
		{NoEFADevice, "the OFI plugin was loaded, found no EFA device and gave up", "request vpc.amazonaws.com/efa in the worker pods and run the EFA device plugin; check with fi_info -p efa in the pod"},
		{NoIBDevice, "NCCL found no InfiniBand or RoCE device", "give the containers the RDMA devices (/dev/infiniband) and install libibverbs"},
		{IBDisabled, "NCCL_IB_DISABLE switched InfiniBand and RoCE off", "unset NCCL_IB_DISABLE"},
		{ProviderNotEFA, "the OFI plugin runs over another libfabric provider than EFA", "unset FI_PROVIDER or set it to efa, and give the worker pods EFA devices"},
		{LibfabricWithoutCUDA, "the OFI plugin gave up because it could not use GPUDirect RDMA", "use the libfabric of AWS's EFA installer, which is built with CUDA, and unset FI_EFA_USE_DEVICE_RDMA"},
		{NetForcedSocket, "NCCL was told to use sockets (NCCL_NET=Socket, which NCCL does not print)", "unset NCCL_NET in the job's environment, in the image and in nccl.conf"},
		{RequestedNetUnavailable, "NCCL was told to use a network that it could not initialise", "make the network that NCCL_NET names available, or unset NCCL_NET"},
		{BootstrapFailed, "NCCL found no interface to start over", "set NCCL_SOCKET_IFNAME to an interface that the nodes share, or unset it"},
		{MixedNetworks, "ranks of one communicator use different networks and cannot talk to each other", "give all ranks the same image, environment and devices; see the processes for who differs"},
		{OtherNetwork, "NCCL used another network than the one expected", "expect the network that the cluster has, or change NCCL_NET"},
		{UnexplainedFallback, "NCCL fell back to sockets and the log does not say why", "run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET,ENV; check that NCCL_NET_PLUGIN is not empty"},
		{NetworkError, "the network failed before all edges were up", "check security groups (all traffic within the group, in and out) and the peer that the quoted lines name"},
		{NoGPU, "there is no GPU", "run on machines with GPUs to prove a network"},
		{SingleNode, "all ranks were on one node, so the network was not used", "run on two nodes or more"},
		{NoNCCLOutput, "the logs hold no line of NCCL", "set NCCL_DEBUG=INFO for the workers; check NCCL_DEBUG_FILE"},
		{DebugTooLow, "NCCL printed no more than its version or warnings", "set NCCL_DEBUG=INFO for the workers"},
		{SubsysFiltered, "NCCL's lines about initialisation are filtered out", "unset NCCL_DEBUG_SUBSYS, or set it to INIT,NET,ENV"},
		{ProviderMissing, "edges use Libfabric and no line tells its provider", "keep the whole output of the workers at NCCL_DEBUG=INFO"},
		{RanksMissing, "not all ranks are in the logs", "add the logs of the other ranks"},
		{EdgesMissing, "not all edges are in the logs", "wait for the first collective, and keep the whole output of all ranks"},
		{LogTruncated, "a log was cut off", "raise the limit, or judge the whole files"},
		{LogsDeduplicated, "lines were folded by Ray's de-duplication", "set RAY_DEDUP_LOGS=0, or judge the workers' own files"},
		{EdgesUnreadable, "some channel lines could not be read", "keep each rank's output in a file of its own (NCCL_DEBUG_FILE with %h and %p)"},
	}
}

// Info explains the cause.
func (c Cause) Info() CauseInfo {
	for _, info := range Causes() {
		if info.Cause == c {
			return info
		}
	}
	return CauseInfo{Cause: c}
}
