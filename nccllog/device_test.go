package nccllog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/nccllog"
)

func TestDevices(t *testing.T) {
	type device = nccllog.Device
	tests := []struct {
		message string
		want    []device
	}{
		{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", []device{{Net: "IB", Name: "mlx5_0:1", Link: "IB"}, {Net: "IB", Name: "mlx5_1:1", Link: "RoCE"}}},
		{"NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.0.0.1<0>", []device{{Net: "IB", Name: "mlx5_0:1", Link: "RoCE"}}},
		{"NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB [RO]; OOB ib0:10.0.0.1<0>", []device{{Net: "IB", Name: "mlx5_0:1", Link: "IB"}, {Net: "IB", Name: "mlx5_1:1", Link: "IB"}}},
		{"NET/IB : Using [0]mlx5_0:1/IB:0:1 [RO]; OOB eth0:10.0.0.1<0>", []device{{Net: "IB", Name: "mlx5_0:1", Link: "IB"}}},
		{"NET/IB: [0] mlx5_2:uverbs2:1/RoCE provider=Mlx5 speed=400000 context=0x7f pciPath=/sys/x ar=0", []device{{Net: "IB", Name: "mlx5_2:1", Link: "RoCE"}}},
		{"NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>", nil},
		{"NET/IB : Using ; OOB eth0:10.0.0.1<0>", nil},
		{"NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:2001:db8::1<0>", []device{{Net: "Socket", Name: "eth0"}, {Net: "Socket", Name: "eth1"}}},
	}
	ignore := cmpopts.IgnoreFields(device{}, "Fact")
	for _, tt := range tests {
		p := one(t, "NET/Plugin: Could not find: libnccl-net.so", tt.message, tt.message)
		if diff := cmp.Diff(tt.want, p.Devices, ignore); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.message, diff)
		}
	}
}

// TestBootstrapInterface: up to NCCL 2.4.7 NET/Socket's line is the bootstrap's
// where it comes first, and the network's after that.
func TestBootstrapInterface(t *testing.T) {
	const socket = "NET/Socket : Using [0]eth0:10.0.0.1<0>"
	type result struct {
		Name, Address string
		Steps         []string
	}
	tests := []struct {
		name     string
		messages []string
		want     result
	}{
		{"2.4.8 to 2.23", []string{"Bootstrap : Using [0]eth0:10.0.0.1<0>", socket}, result{"eth0", "10.0.0.1", []string{"devices Socket"}}},
		{"2.24", []string{"Bootstrap: Using eth0:10.0.0.1<0>"}, result{"eth0", "10.0.0.1", nil}},
		{"IPv6", []string{"Bootstrap: Using eth0:fe80::1%eth0<0>"}, result{"eth0", "fe80::1%eth0", nil}},
		{"2.4.7", []string{socket, "NET/Plugin : No plugin found (libnccl-net.so).", "NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>"}, result{"eth0", "10.0.0.1", []string{"not-found libnccl-net.so", "devices IB"}}},
		{"2.4.7 over Socket", []string{socket, "NET/Plugin : No plugin found (libnccl-net.so).", "NET/IB : No device found.", socket}, result{"eth0", "10.0.0.1", []string{"not-found libnccl-net.so", "no-device IB", "devices Socket"}}},
		{"2.28 without the bootstrap's line", []string{"NCCL version 2.28.9+cuda13.0", socket}, result{Steps: []string{"devices Socket"}}},
		{"2.21 without the bootstrap's line", []string{"NET/Plugin: No plugin found (libnccl-net.so)", socket}, result{Steps: []string{"not-found libnccl-net.so", "devices Socket"}}},
	}
	for _, tt := range tests {
		p := one(t, tt.messages...)
		if diff := cmp.Diff(tt.want, result{p.Bootstrap.Name, p.Bootstrap.Address, steps(p)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestNoGDR: one line of a kind is enough.
func TestNoGDR(t *testing.T) {
	tests := []struct {
		name     string
		messages []string
		want     []nccllog.Fact
	}{
		{"2.4", []string{"NET/IB : GPU Direct RDMA Disabled for GPU 0[0] / HCA 0 (distance 4 >= 2)"}, []nccllog.Fact{fact(1, "NET/IB : GPU Direct RDMA Disabled for GPU 0[0] / HCA 0 (distance 4 >= 2)")}},
		{"2.6 to 2.20", []string{"GPU Direct RDMA Enabled for GPU 60 / HCA 0 (distance 3 <= 3), read 1", "GPU Direct RDMA Disabled for GPU 60 / HCA 1 (distance 4 > 3)", "GPU Direct RDMA Disabled for GPU 70 / HCA 1 (distance 4 > 3)"}, []nccllog.Fact{fact(2, "GPU Direct RDMA Disabled for GPU 60 / HCA 1 (distance 4 > 3)")}},
		{"2.13", []string{"NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'"}, []nccllog.Fact{fact(1, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'")}},
		{"2.29", []string{"GPU Direct RDMA Disabled for GPU/0-60 (rank 0) - NET/0-0 (distance 6 > 4)"}, []nccllog.Fact{fact(1, "GPU Direct RDMA Disabled for GPU/0-60 (rank 0) - NET/0-0 (distance 6 > 4)")}},
		{"the OFI plugin", []string{
			"NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR",
			"NET/OFI Need to force simple protocol: GDR not supported",
			"NET/OFI Need to force simple protocol: FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES not supported",
		}, []nccllog.Fact{fact(1, "NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR"), fact(2, "NET/OFI Need to force simple protocol: GDR not supported")}},
		{"the OFI plugin 1.15", []string{"NET/OFI Setting NCCL_PROTO='simple' to prevent data corruption (reason: GDR not supported)"}, []nccllog.Fact{fact(1, "NET/OFI Setting NCCL_PROTO='simple' to prevent data corruption (reason: GDR not supported)")}},
		{"says nothing", []string{`NET/OFI Setting NCCL_PROTO to "simple"`, "DMA-BUF is available on GPU device 0", "NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'", "Connected all rings, use ring PXN 0 GDR 0"}, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, one(t, tt.messages...).NoGDR); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestOFI has the words of the plugin from 1.1 to 1.21.
func TestOFI(t *testing.T) {
	type process = nccllog.Process
	type provider = nccllog.Provider
	name := func(s string) nccllog.Value { return nccllog.Value{Name: s} }
	tests := []struct {
		message string
		want    process
	}{
		{"NET/OFI Using aws-ofi-nccl 1.4.0aws", process{OFIVersion: name("1.4.0aws")}},
		{"NET/OFI Initializing aws-ofi-nccl 1.9.2-aws", process{OFIVersion: name("1.9.2-aws")}},
		{"NET/OFI Initializing aws-ofi-nccl GitHub-dev", process{OFIVersion: name("GitHub-dev")}},
		{"NET/OFI Using Libfabric version 2.6", process{Libfabric: name("2.6")}},
		{"NET/OFI Plugin selected platform: AWS", process{Platform: name("AWS")}},
		{"NET/OFI Using transport protocol RDMA (platform set)", process{Protocol: name("RDMA")}},
		{"NET/OFI Using transport protocol SENDRECV", process{Protocol: name("SENDRECV")}},
		{"NET/OFI Running on p4d.24xlarge platform, Setting NCCL_TOPO_FILE environment variable to /opt/x.xml", process{Instance: name("p4d.24xlarge")}},
		{"NET/OFI Running on p5.48xlarge platform, topology file /opt/x.xml", process{Instance: name("p5.48xlarge")}},
		{"NET/OFI Running on p5en.48xlarge platform, NCCL_TOPO_FILE environment variable is already set to /x.xml", process{Instance: name("p5en.48xlarge")}},
		{"NET/OFI Configuring AWS-specific options", process{Platform: name("AWS")}},
		{"NET/OFI GDR disabled on GDR-supported instance type p5.48xlarge", process{
			Instance: name("p5.48xlarge"), Steps: []nccllog.Step{{Kind: "no-gdr", Name: "Libfabric", Count: 1}},
		}},
		{"NET/OFI NIC group 3 device #1 0000:a0:1b.0", process{NICGroups: 4}},
		{"NET/OFI Selected Provider is efa;ofi_rxr", process{Providers: []provider{{Name: "efa;ofi_rxr"}}}},
		{"NET/OFI Selected Provider is efa (found 4 nics)", process{Providers: []provider{{Name: "efa", NICs: 4}}}},
		{"NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)", process{Providers: []provider{{Name: "efa", Fabric: "efa-direct", NICs: 16}}}},
		{"NET/OFI Selected provider is tcp;ofi_rxm, fabric is 172.31.0.0/20 (found 1 nics)", process{Providers: []provider{{Name: "tcp;ofi_rxm", Fabric: "172.31.0.0/20", NICs: 1}}}},
		{"NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)", process{Providers: []provider{{Name: "cxi", Fabric: "cxi", NICs: 4}}}},
		{"NET/OFI Tuner selected platform: Default", process{}},
	}
	ignore := cmp.Options{cmpopts.IgnoreTypes(nccllog.Fact{}), linesAside(), cmpopts.IgnoreFields(process{}, "Host", "PID", "Info", "Starts")}
	for _, tt := range tests {
		if diff := cmp.Diff(&tt.want, one(t, tt.message), ignore); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.message, diff)
		}
	}
}
