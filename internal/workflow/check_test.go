package workflow

import (
	"testing"

	"github.com/trainyard/trainyard/internal/config"
)

func TestCUDAOf(t *testing.T) {
	for image, want := range map[string]string{
		config.DefaultImage: "13.0.2",
		"111122223333.dkr.ecr.us-east-1.amazonaws.com/ray:train-ml-cuda-v1.1.4@sha256:00": "13.0.2",
		"mirror:5000/ray:train-ml-cuda-v1.2":                                              "",
		"public.ecr.aws/deep-learning-containers/ray@sha256:00":                           "",
		"rayproject/ray:2.58.0":                                                           "",
	} {
		if got := cudaOf(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}

// The cluster of the defaults is judged as one of two whole nodes in one zone.
func TestNeedOfDefaults(t *testing.T) {
	cfg, err := config.Load(config.Sources{Remote: true})
	if err != nil {
		t.Fatal(err)
	}
	need, err := needOf(cfg, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if need.Cluster != "trainyard-ada" || need.Nodes != 2 || !need.OneZone || need.Type.Name != "g6.12xlarge" || need.CUDA == "" || len(need.Head.Containers) == 0 {
		t.Errorf("%+v", need)
	}
	gpus := need.Worker.Containers[0].Resources.Requests["nvidia.com/gpu"]
	if gpus.Value() != 4 {
		t.Errorf("%s GPUs a worker", &gpus)
	}
}
