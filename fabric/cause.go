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
	LockedMemory            Cause = "locked-memory"
	VersionMismatch         Cause = "version-mismatch"
)

// Causes of UNKNOWN: what is missing for a proof.
const (
	NetworkError     Cause = "network-error"
	SecurityGroup    Cause = "security-group"
	Timeout          Cause = "collective-timeout"
	CountersFlat     Cause = "counters-flat"
	MNNVLOnly        Cause = "mnnvl-only"
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

// Causes of warnings: the network is the expected one, and could be faster.
const (
	RailsMissing Cause = "rails-missing"
	GDRMissing   Cause = "gdr-missing"
)

// CauseInfo explains a cause.
type CauseInfo struct {
	Cause Cause
	// Why continues a sentence about the ranks; Remedy says what to do. Both are
	// lower case and without a full stop.
	Why, Remedy string
	// Looks says what the log shows, About why it happens, Fix what to do: some
	// sentences of Markdown each, for a page on the cause.
	Looks, About, Fix string
}

// Causes lists all causes with their explanations.
func Causes() []CauseInfo {
	return []CauseInfo{
		{Cause: PluginNotFound, Why: "NCCL did not find a network plugin", Remedy: "install aws-ofi-nccl in the image and put its lib folder on LD_LIBRARY_PATH; set NCCL_NET_PLUGIN=ofi where the library is called libnccl-net-ofi.so"},
		{Cause: PluginLoadFailed, Why: "the network plugin could not be loaded", Remedy: "make the libraries that the plugin needs loadable (libfabric in /opt/amazon/efa/lib, the CUDA runtime of the right major version)"},
		{Cause: PluginTooOld, Why: "the network plugin does not speak an interface of this NCCL", Remedy: "upgrade aws-ofi-nccl"},
		{Cause: PluginDisabled, Why: "NCCL_NET_PLUGIN switched the network plugin off", Remedy: "unset NCCL_NET_PLUGIN, or set it to ofi"},
		{Cause: PluginInitFailed, Why: "the network plugin was loaded and could not be initialised", Remedy: "read the quoted lines; locked memory (ulimit -l unlimited, IPC_LOCK) and permissions are the usual reasons"},
		{Cause: NoEFADevice, Why: "the OFI plugin was loaded, found no EFA device and gave up", Remedy: "request vpc.amazonaws.com/efa in the worker pods and run the EFA device plugin; check with fi_info -p efa in the pod"},
		{Cause: NoIBDevice, Why: "NCCL found no InfiniBand or RoCE device", Remedy: "give the containers the RDMA devices (/dev/infiniband) and install libibverbs"},
		{Cause: IBDisabled, Why: "NCCL_IB_DISABLE switched InfiniBand and RoCE off", Remedy: "unset NCCL_IB_DISABLE"},
		{Cause: ProviderNotEFA, Why: "the OFI plugin runs over another libfabric provider than EFA", Remedy: "unset FI_PROVIDER or set it to efa, and give the worker pods EFA devices"},
		{Cause: LibfabricWithoutCUDA, Why: "the OFI plugin gave up because it could not use GPUDirect RDMA", Remedy: "use the libfabric of AWS's EFA installer, which is built with CUDA, and unset FI_EFA_USE_DEVICE_RDMA"},
		{Cause: NetForcedSocket, Why: "NCCL was told to use sockets (NCCL_NET=Socket)", Remedy: "unset NCCL_NET in the job's environment, in the image and in nccl.conf"},
		{Cause: RequestedNetUnavailable, Why: "NCCL was told to use a network that it could not initialise", Remedy: "make the network that NCCL_NET names available, or unset NCCL_NET"},
		{Cause: BootstrapFailed, Why: "NCCL found no interface to start over", Remedy: "set NCCL_SOCKET_IFNAME to an interface that the nodes share, or unset it"},
		{Cause: MixedNetworks, Why: "ranks of one communicator use different networks and cannot talk to each other", Remedy: "give all ranks the same image, environment and devices; see the processes for who differs"},
		{Cause: OtherNetwork, Why: "NCCL used another network than the one expected", Remedy: "expect the network that the cluster has, or change NCCL_NET"},
		{Cause: UnexplainedFallback, Why: "NCCL fell back to sockets and the log does not say why", Remedy: "run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET,ENV; check that NCCL_NET_PLUGIN is not empty"},
		{Cause: NetworkError, Why: "the network failed before all edges were up", Remedy: "check security groups (all traffic within the group, in and out) and the peer that the quoted lines name"},
		{Cause: LockedMemory, Why: "the network plugin could not lock or register memory", Remedy: "raise the limit on locked memory (ulimit -l unlimited) and give the containers IPC_LOCK and huge pages"},
		{Cause: VersionMismatch, Why: "ranks use different versions of NCCL", Remedy: "give all ranks the same image"},
		{Cause: SecurityGroup, Why: "packets do not reach the peer, as where a security group drops them", Remedy: "allow all traffic within the nodes' security group, in and out"},
		{Cause: Timeout, Why: "PyTorch's watchdog gave up waiting for a collective", Remedy: "look for the rank that did not come (its stack, its errors); a slow data loader looks alike"},
		{Cause: CountersFlat, Why: "the network cards did not count what the log says they carried", Remedy: "check that the counters are those of the machines that ran the job, and judge again after some steps"},
		{Cause: MNNVLOnly, Why: "the machines are joined by NVLink, so no network was used", Remedy: "expect any or rdma, or use more machines than one NVLink domain has"},
		{Cause: RailsMissing, Why: "fewer network cards are used than the machines have", Remedy: "request all EFA interfaces of the instance type for the worker pods"},
		{Cause: GDRMissing, Why: "GPUDirect RDMA is not used where the machines have it", Remedy: "load efa_nv_peermem or use a driver with DMA-BUF, and the libfabric of AWS's EFA installer"},
		{Cause: NoGPU, Why: "there is no GPU", Remedy: "run on machines with GPUs to prove a network"},
		{Cause: SingleNode, Why: "all ranks were on one node, so the network was not used", Remedy: "run on two nodes or more"},
		{Cause: NoNCCLOutput, Why: "the logs hold no line of NCCL", Remedy: "set NCCL_DEBUG=INFO for the workers; check NCCL_DEBUG_FILE"},
		{Cause: DebugTooLow, Why: "NCCL printed no more than its version or warnings", Remedy: "set NCCL_DEBUG=INFO for the workers"},
		{Cause: SubsysFiltered, Why: "NCCL's lines about initialisation are filtered out", Remedy: "unset NCCL_DEBUG_SUBSYS, or set it to INIT,NET,ENV"},
		{Cause: ProviderMissing, Why: "edges use Libfabric and no line tells its provider", Remedy: "keep the whole output of the workers at NCCL_DEBUG=INFO"},
		{Cause: RanksMissing, Why: "not all ranks are in the logs", Remedy: "add the logs of the other ranks"},
		{Cause: EdgesMissing, Why: "not all edges are in the logs", Remedy: "wait for the first collective, and keep the whole output of all ranks"},
		{Cause: LogTruncated, Why: "a log was cut off", Remedy: "raise the limit, or judge the whole files"},
		{Cause: LogsDeduplicated, Why: "lines were folded by Ray's de-duplication", Remedy: "set RAY_DEDUP_LOGS=0, or judge the workers' own files"},
		{Cause: EdgesUnreadable, Why: "some channel lines could not be read", Remedy: "keep each rank's output in a file of its own (NCCL_DEBUG_FILE with %h and %p)"},
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
