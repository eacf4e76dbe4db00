package kubernetes

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// cudaDriver is the oldest branch of NVIDIA's driver for a CUDA.
// Source: NVIDIA's CUDA Compatibility guide.
type cudaDriver struct {
	major   int
	native  int // that runs every minor version of it
	forward int // with the forward-compatibility libraries, on data-center GPUs
}

var cudaDrivers = []cudaDriver{{12, 525, 470}, {13, 580, 535}}

// oldestCompute is the oldest compute capability, times 10, that PyTorch for
// CUDA 13 has code for: Turing.
const oldestCompute = 75

// drivers judges the nodes' NVIDIA driver, and their GPUs, against the image's
// CUDA.
func (v view) drivers() []Finding {
	const check = "driver"
	if len(v.nodes) == 0 || v.gpusAsked() == 0 && v.need.Type.GPUs == 0 {
		return nil // said of nodes and GPUs
	}
	needs, known := driverOf(v.need.CUDA)
	if !known {
		return []Finding{{
			Level: Unknown, Check: check, What: "which CUDA is in the image is not known",
			Consequence: "the nodes' driver may be too old for it", Remedy: "compare nvidia-smi on a node with the image's nvcc --version",
		}}
	}
	all := fold(v.nodes, func(it node) (Finding, bool) {
		branch, full := driverVersion(it.Labels)
		f := Finding{Level: Problem, Check: check, Remedy: "use a newer AMI or driver"}
		switch {
		case needs.major >= 13 && tooOld(it):
			f.What = fmt.Sprintf("the GPUs (%s) are older than CUDA %s has code for", cmp.Or(it.Labels["nvidia.com/gpu.product"], it.typ.GPU), v.need.CUDA)
			f.Consequence, f.Remedy = "training fails at its first kernel", "use nodes with T4 or newer GPUs"
		case branch == 0:
			f.Level, f.What = Unknown, "its version is not known: the node has no label of it"
			f.Consequence = fmt.Sprintf("the image has CUDA %s, which wants %d or newer", v.need.CUDA, needs.native)
			f.Remedy = "GPU feature discovery, an option of NVIDIA's device plugin, labels it; or nvidia-smi on the node"
		case branch >= needs.native:
			return f, false
		case branch >= needs.forward:
			f.Level, f.What = Warning, fmt.Sprintf("%s is older than CUDA %s", full, v.need.CUDA)
			f.Consequence = "the container uses its CUDA compatibility libraries, which work on data-center GPUs"
			f.Remedy = fmt.Sprintf("better a driver from %d on: a newer AMI", needs.native)
		default:
			f.What = fmt.Sprintf("%s is too old for CUDA %s, also with the container's compatibility libraries", full, v.need.CUDA)
			f.Consequence = "training fails when it first uses a GPU"
			f.Remedy = fmt.Sprintf("a driver from %d on: a newer AMI", needs.native)
		}
		return f, true
	})
	if len(all) > 0 {
		return all
	}
	_, full := driverVersion(v.nodes[0].Labels)
	return ok(check, "%s and the like run CUDA %s", full, v.need.CUDA)
}

func driverOf(cuda string) (cudaDriver, bool) {
	major, _, _ := strings.Cut(cuda, ".")
	for _, d := range cudaDrivers {
		if strconv.Itoa(d.major) == major {
			return d, true
		}
	}
	return cudaDriver{}, false
}

// driverVersion reads the labels of GPU feature discovery, of today and of old
// releases; 0 where there are none.
func driverVersion(labels map[string]string) (branch int, full string) {
	full = labels["nvidia.com/cuda.driver-version.full"]
	if full == "" {
		full = joined(labels, "nvidia.com/cuda.driver-version.", "major", "minor", "revision")
	}
	if full == "" {
		full = joined(labels, "nvidia.com/cuda.driver.", "major", "minor", "rev")
	}
	major, _, _ := strings.Cut(full, ".")
	branch, err := strconv.Atoi(major)
	if err != nil {
		return 0, ""
	}
	return branch, full
}

func joined(labels map[string]string, prefix string, parts ...string) string {
	var values []string
	for _, part := range parts {
		if value := labels[prefix+part]; value != "" {
			values = append(values, value)
		}
	}
	return strings.Join(values, ".")
}

func tooOld(it node) bool {
	major, errMajor := strconv.Atoi(it.Labels["nvidia.com/gpu.compute.major"])
	minor, errMinor := strconv.Atoi(it.Labels["nvidia.com/gpu.compute.minor"])
	if errMajor == nil && errMinor == nil {
		return major*10+minor < oldestCompute
	}
	return it.typ.GPU == "V100"
}

// pages judges the huge pages that EFA works well with.
func (v view) pages() []Finding {
	const check = "huge pages"
	asked := v.ask[hugePages]
	relevant := false
	all := fold(v.nodes, func(it node) (Finding, bool) {
		have := it.Status.Allocatable[hugePages]
		f := Finding{Check: check, Remedy: "nodes from an EKS AMI with EFA reserve 5128 pages of 2 MiB: use one, or kubernetes.hugePages: \"0\" in trainyard.yaml"}
		relevant = relevant || !asked.IsZero() || it.typ.HugePagesMiB > 0
		switch {
		case have.Cmp(asked) < 0:
			f.Level, f.What = Problem, fmt.Sprintf("%s of the %s that a worker asks for", mebi(have), mebi(asked))
			f.Consequence = noWorker
		case asked.IsZero() && v.efaAsked() > 0 && it.typ.HugePagesMiB > 0 && have.Value()>>20 < int64(it.typ.HugePagesMiB):
			f.Level, f.What = Warning, fmt.Sprintf("%s of %dMi", mebi(have), it.typ.HugePagesMiB)
			f.Consequence = "EFA goes without, which costs some speed"
		default:
			return f, false
		}
		return f, true
	})
	switch {
	case len(all) > 0:
		return all
	case relevant:
		return ok(check, "reserved on all nodes")
	}
	return nil
}

func mebi(amount resource.Quantity) string { return fmt.Sprintf("%dMi", amount.Value()>>20) }
