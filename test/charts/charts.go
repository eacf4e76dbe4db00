// Package charts finds the Helm charts that package addons installs, as their
// makers publish them in Go modules. The checksums that addons pins say that they
// are the right ones.
package charts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/trainyard/trainyard/internal/addons"
)

// sources are the modules, and where in them the charts are, by their names.
func sources() map[string]struct{ module, dir string } {
	return map[string]struct{ module, dir string }{
		"kuberay-operator":     {"github.com/ray-project/kuberay@v" + addons.KubeRay.Version(), "helm-chart/kuberay-operator"},
		"nvidia-device-plugin": {"github.com/NVIDIA/k8s-device-plugin@v" + addons.NVIDIA.Version(), "deployments/helm/nvidia-device-plugin"},
	}
}

// Folder returns a folder with a folder for each chart. Modules that are not
// there yet are downloaded, as by go build.
func Folder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	for name, source := range sources() {
		download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", source.module)
		download.Dir = folder // of no module: none is changed
		download.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		answer, err := download.Output()
		var module struct{ Dir, Error string }
		if jsonErr := json.Unmarshal(answer, &module); jsonErr != nil || err != nil || module.Error != "" {
			t.Fatalf("downloading %s: %v %v %s", source.module, err, jsonErr, module.Error)
		}
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(module.Dir, source.dir))); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
