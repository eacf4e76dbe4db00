package fabric

import "slices"

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
	return slices.Concat(otherNetworkCauses(), noStartCauses(), gapCauses(), warningCauses())
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
