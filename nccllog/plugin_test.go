package nccllog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/nccllog"
)

// steps are the moves that the messages tell of: kind, name, and how often where
// that is more than once.
func steps(p *nccllog.Process) []string {
	var list []string
	for _, s := range p.Steps {
		text := strings.TrimSpace(string(s.Kind) + " " + s.Name)
		if s.Count > 1 {
			text += fmt.Sprintf(" %dx", s.Count)
		}
		list = append(list, text)
	}
	return list
}

// TestPlugin has a row for each wording; the versions are those of NCCL.
func TestPlugin(t *testing.T) {
	const absent = "cannot open shared object file: No such file or directory"
	tests := []struct {
		name     string
		messages []string
		want     []string
	}{
		{"2.4 absent", []string{"NET/Plugin : No plugin found (libnccl-net.so)."}, []string{"not-found libnccl-net.so"}},
		{"2.5 to 2.10 absent", []string{"NET/Plugin : No plugin found (libnccl-net.so), using internal implementation"}, []string{"not-found libnccl-net.so"}},
		{"2.11 to 2.16 absent", []string{"Plugin name set by env to libnccl-net-ofi.so", "NET/Plugin : No plugin found (libnccl-net-ofi.so), using internal implementation"}, []string{"not-found libnccl-net-ofi.so"}},
		{"2.17 absent", []string{"NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: " + absent, "NET/Plugin : No plugin found, using internal implementation"}, []string{"not-found libnccl-net.so"}},
		{"2.17 absent, the second line alone", []string{"NET/Plugin : No plugin found, using internal implementation"}, []string{"not-found"}},
		{"2.19 absent", []string{"NET/Plugin : dlerror=libnccl-net.so: " + absent + " No plugin found (libnccl-net.so), using internal implementation"}, []string{"not-found libnccl-net.so"}},
		{"2.21 absent", []string{"NET/Plugin: No plugin found (libnccl-net.so)", "NET/Plugin: Plugin load returned 2 : libnccl-net.so: " + absent + " : when loading libnccl-net.so", "NET/Plugin: Using internal network plugin."}, []string{"not-found libnccl-net.so 2x"}},
		{"2.22 absent", []string{"NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."}, []string{"not-found libnccl-net.so"}},
		{"2.26 absent", []string{"NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin."}, []string{"not-found libnccl-net.so"}},
		{"2.27 absent", []string{"NET/Plugin: Could not find: libnccl-net.so. "}, []string{"not-found libnccl-net.so"}},
		{"2.28 absent, two names", []string{"NCCL_NET_PLUGIN set by environment to ofi", "NET/Plugin: Could not find: ofi libnccl-net-ofi.so"}, []string{"not-found ofi libnccl-net-ofi.so"}},
		{"2.30 absent", []string{"ncclOsDlopen(libnccl-net.so) failed: libnccl-net.so: " + absent, "NET/Plugin: Could not find: libnccl-net.so"}, []string{"not-found libnccl-net.so 2x"}},
		{"2.30 another library", []string{"ncclOsDlopen(libnccl-tuner.so) failed: libnccl-tuner.so: " + absent, "ncclOsDlopen(libnvidia-ml.so.1) failed: x"}, nil},

		{"2.4 to 2.16 load error", []string{"NET/Plugin : Plugin load returned 0 : libfabric.so.1: " + absent + "."}, []string{"load-error libfabric.so.1"}},
		{"2.17 load error", []string{"NET/Plugin : Plugin load (libnccl-net.so) returned 11 : libcudart.so.12: " + absent, "NET/Plugin : No plugin found, using internal implementation"}, []string{"load-error libcudart.so.12"}},
		{"2.19 load error", []string{"NET/Plugin : dlerror=libfabric.so.1: " + absent + " No plugin found (libnccl-net.so), using internal implementation"}, []string{"load-error libfabric.so.1"}},
		{"2.21 load error", []string{"NET/Plugin: Plugin load returned 0 : libfabric.so.1: " + absent + " when loading libnccl-net.so"}, []string{"load-error libfabric.so.1"}},
		{"2.22 to 2.27 load error", []string{"NET/Plugin: libfabric.so.1: " + absent, "NET/Plugin: Using internal network plugin."}, []string{"load-error libfabric.so.1"}},
		{"2.28 load error", []string{"NET/Plugin: libnccl-net.so: libfabric.so.1: " + absent}, []string{"load-error libfabric.so.1"}},
		{"2.30 load error", []string{"ncclOsDlopen(libnccl-net.so) failed: libhwloc.so.15: " + absent, "NET/Plugin: libnccl-net.so: libhwloc.so.15: " + absent}, []string{"load-error libhwloc.so.15 2x"}},
		{"undefined symbol", []string{"NET/Plugin: /opt/ofi/lib/libnccl-net.so: undefined symbol: fi_getinfo, version FABRIC_1.7"}, []string{"load-error /opt/ofi/lib/libnccl-net.so"}},
		{"glibc too old", []string{"NET/Plugin : Plugin load returned 0 : /lib/libm.so.6: version `GLIBC_2.35' not found (required by /opt/ofi/lib/libnccl-net.so)."}, []string{"load-error /lib/libm.so.6"}},
		{"another machine's", []string{"NET/Plugin: libnccl-net.so: wrong ELF class: ELFCLASS32"}, []string{"load-error libnccl-net.so"}},
		{"no library at all", []string{"NET/Plugin: /opt/ofi/lib/libnccl-net.so: file too short"}, []string{"load-error /opt/ofi/lib/libnccl-net.so"}},
		{"2.4 no text", []string{"NET/Plugin : Plugin load returned 12"}, []string{"load-error"}},

		{"2.13 to 2.16 loaded", []string{"NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.", "NET/Plugin: Loaded net plugin AWS Libfabric (v5)"}, []string{"symbol-missing v6", "loaded AWS Libfabric"}},
		{"2.26 loaded", []string{"NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.", "NET/Plugin: Loaded net plugin Libfabric (v9)", "NET/Plugin: Failed to find ncclCollNetPlugin_v10 symbol."}, []string{"symbol-missing v10", "loaded Libfabric"}},
		{"2.27 loaded", []string{"NET/Plugin: Loaded net plugin Libfabric (v10)", "Successfully loaded external plugin libnccl-net.so"}, []string{"loaded Libfabric"}},
		{"2.28 loaded", []string{"NET/Plugin: Loaded net plugin FasTrak (v11)", "Successfully loaded external network plugin /usr/lib/libnccl-net.so"}, []string{"loaded FasTrak"}},
		{"2.28 loaded, one line lost", []string{"Successfully loaded external network plugin /usr/lib/libnccl-net.so"}, []string{"loaded /usr/lib/libnccl-net.so"}},
		{"2.30 loaded", []string{
			"ncclOsDlsym(ncclNetPlugin_v11) failed: /usr/lib/libnccl-net.so: undefined symbol: ncclNetPlugin_v11", "NET/Plugin: Loaded net plugin Libfabric (v10)",
			"ncclOsDlsym(ncclCollNetPlugin_v11) failed: /usr/lib/libnccl-net.so: undefined symbol: ncclCollNetPlugin_v11",
		}, []string{"symbol-missing v11", "loaded Libfabric"}},
		{"2.6 too old", []string{"NET/Plugin: Failed to find ncclNetPlugin_v3 symbol."}, []string{"symbol-missing v3"}},
		{"2.13 to 2.18 too old", []string{"NET/Plugin: Failed to find ncclNetPlugin symbol (v4 or v5)."}, []string{"unsupported"}},
		{"2.19 to 2.25 too old", []string{"NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols v4 and lower are not supported."}, []string{"unsupported"}},
		{"2.28 too old", []string{"External network plugin /usr/lib/libnccl-net.so is unsupported"}, []string{"unsupported /usr/lib/libnccl-net.so"}},

		{"not the network's", []string{
			"TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.",
			"PROFILER/Plugin: Could not find: libnccl-profiler.so", "ENV/Plugin: Could not find: libnccl-env.so",
			"GIN/Plugin: Could not find: libnccl-gin.so", "RMA/Plugin: Could not find: libnccl-rma.so",
			"NET/Plugin: Loaded gin plugin Libfabric (v11)", "NET/Plugin: Loaded collnet plugin SHARP (v10)", "NET/Plugin: Loaded coll plugin SHARP (v6)",
			"NET/Plugin: Failed to find ncclCollNetPlugin symbol (>= v5). ncclCollNetPlugin symbols v4 and lower are not supported.",
			"Successfully loaded external gin plugin /usr/lib/libnccl-net.so", "Successfully loaded external tuner plugin x",
			"Assigned GIN plugin Libfabric to comm", "Assigned RMA plugin Libfabric to comm", "Failed to initialize any GIN plugin",
			"NET/Plugin: Closing net plugin 'Libfabric'", "Unloading plugin ofi", "Disabling external plugins: ofi",
			"NET/Plugin: Using internal network plugin.", "P2P plugin IBext_v8", "PXN Disabled as plugin is v4",
			"Using non-device net plugin version 0", "Cannot initialize CollNet, using point-to-point network instead",
			"NET/OFI gin: Initializing", "NET/OFI GIN only supports RDMA transport protocol.", "NET/OFI Tuner selected platform: Default",
		}, nil},

		{"2.27 choice", []string{"Initialized NET plugin Libfabric", "Initialized NET plugin IB", "Assigned NET plugin IB to comm"}, []string{"initialized Libfabric", "initialized IB", "assigned IB"}},
		{"2.28 choice", []string{"Failed to initialize NET plugin IB", "Initialized NET plugin Socket", "Assigned NET plugin Socket to comm", "Assigned NET plugin Socket to comm"}, []string{"init-failed IB", "initialized Socket", "assigned Socket 2x"}},
		{"2.27 none", []string{"Failed to initialize any NET plugin"}, []string{"none"}},
		{"2.10 to 2.26 none", []string{"Error: network AWS Libfabric not found."}, []string{"none AWS Libfabric"}},
		{"asked for by the program", []string{"Comm config Blocking set to 1", "Comm config Net name set to Socket"}, []string{"forced Socket"}},
		{"overridden by NCCL_NET", []string{"Comm config netName reset to NCCL_NET=AWS Libfabric"}, []string{"forced AWS Libfabric"}},

		{"libfabric offers nothing, 1.9", []string{"NET/OFI OFI fi_getinfo() call failed: No data available"}, []string{"no-provider Libfabric"}},
		{"libfabric offers nothing, 1.14", []string{"NET/OFI No eligible providers were found"}, []string{"no-provider Libfabric"}},
		{"libfabric offers nothing, 1.8", []string{"NET/OFI Couldn't find any optimal provider"}, []string{"no-provider Libfabric"}},
		{"EFA build without EFA, 1.5", []string{"NET/OFI Only EFA provider is supported"}, []string{"no-provider Libfabric"}},
		{"OFI gives up", []string{"NET/OFI aws-ofi-nccl initialization failed", "NET/OFI Initializing plugin failed"}, []string{"init-failed Libfabric 2x"}},
		{"OFI without GPUDirect", []string{"NET/OFI GDR disabled on GDR-supported instance type p5.48xlarge"}, []string{"no-gdr Libfabric"}},

		{"no IB library", []string{"Failed to open libibverbs.so[.1]"}, []string{"no-device IB"}},
		{"IB switched off", []string{"NCCL_IB_DISABLE set by environment to 1."}, []string{"tried IB"}},
		{"no IB card, 2.24", []string{"NET/IB : No device found.", "NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>"}, []string{"no-device IB", "tried IB"}},
		{"IB cards", []string{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"}, []string{"devices IB"}},
		{"Socket connects, 2.4.8 to 2.22", []string{"NET/Socket: Using 2 threads and 8 sockets per thread"}, []string{"devices Socket"}},
		{"no interface", []string{"NET/Socket : no interface found"}, []string{"no-device Socket"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, steps(one(t, tt.messages...))); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUsing has the names that networks have.
func TestUsing(t *testing.T) {
	tests := []struct{ message, want string }{
		{"Using network Socket", "Socket"},
		{"Using network IB", "IB"},
		{"Using network Libfabric", "Libfabric"},
		{"Using network AWS Libfabric", "AWS Libfabric"},
		{"Using network OFI", "OFI"},
		{"Using network IBext", "IBext"},
		{"Using network IBext_v11", "IBext_v11"},
		{"Using network FastSocket", "FastSocket"},
		{"Using network FasTrak", "FasTrak"},
		{"Using network SPCX", "SPCX"},
		{"Using network nccl-net-x.y", "nccl-net-x.y"},
		{"Using network Socket[2026-11-29 21:14:44]", "Socket"},
	}
	for _, tt := range tests {
		p := one(t, tt.message)
		if len(p.Networks) != 1 || p.Networks[0].Name != tt.want {
			t.Errorf("%s: %+v", tt.message, p.Networks)
		}
	}
}

func TestSettings(t *testing.T) {
	tests := []struct{ message, name, value string }{
		{"NCCL_SOCKET_IFNAME set by environment to ^lo,docker", "NCCL_SOCKET_IFNAME", "^lo,docker"},
		{"NCCL_SOCKET_IFNAME set to eth0", "NCCL_SOCKET_IFNAME", "eth0"},
		{"NCCL_IB_HCA set to mlx5_0:1", "NCCL_IB_HCA", "mlx5_0:1"},
		{"NCCL_IB_DISABLE set by environment to 1.", "NCCL_IB_DISABLE", "1"},
		{"NCCL_NET_GDR_LEVEL set by environment to PHB", "NCCL_NET_GDR_LEVEL", "PHB"},
		{"NCCL_NET_PLUGIN set by environment to none", "NCCL_NET_PLUGIN", "none"},
		{"NCCL_NET_PLUGIN set by environment to ", "NCCL_NET_PLUGIN", ""},
		{"NCCL_HOSTID set by environment to host.", "NCCL_HOSTID", "host."},
		{"NET/Plugin: Plugin name set by env to libnccl-net-ofi.so", "NCCL_NET_PLUGIN", "libnccl-net-ofi.so"},
		{"Plugin name set by env to libnccl-net-ofi.so", "NCCL_NET_PLUGIN", "libnccl-net-ofi.so"},
	}
	for _, tt := range tests {
		p := one(t, tt.message)
		want := []nccllog.Setting{{Name: tt.name, Value: tt.value, Fact: fact(1, strings.TrimSpace(tt.message))}}
		if diff := cmp.Diff(want, p.Env); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.message, diff)
		}
	}
	for _, message := range []string{"P2P Chunksize set to 131072", "Comm config Blocking set to 1", "TUNER/Plugin: NCCL_TUNER_PLUGIN set to x"} {
		if p := one(t, message); len(p.Env) > 0 {
			t.Errorf("%s: %+v", message, p.Env)
		}
	}
}

func TestVersions(t *testing.T) {
	tests := []struct{ line, want string }{
		{"h:1:2 [0] NCCL INFO NCCL version 2.29.7+cuda13.2", "2.29.7"},
		{"h:1:2 [0] NCCL INFO RCCL version 2.18.3+hip6.0 HEAD:a1b2c3", "2.18.3"},
		{"h:1:2 [0] NCCL INFO RCCL version : 2.22.3-HEAD:8a1d3f7", "2.22.3"},
		{"NCCL version 2.4.8+cuda10.1", "2.4.8"},
		{"NCCL version 2.21.5+cuda12.4", "2.21.5"},
		{"RCCL version 2.13.4+hip5.4 HEAD:a1b2c3", "2.13.4"},
		{"h:1:2 [0] NCCL INFO NCCL git version stable b81d6a5a3", ""},
		{"INFO 11-29 utils.py:1] vLLM is using nccl==2.27.7 (NCCL)", ""},
		{"torch 2.11.0 NCCL version (2, 28, 9)", ""},
		{"NCCL version 2.x", ""},
	}
	for _, tt := range tests {
		log := parse(tt.line + "\n")
		v := log.Banner
		if len(log.Processes) > 0 {
			v = log.Processes[0].Version
		}
		got := ""
		if v.Seen() {
			got = fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}
