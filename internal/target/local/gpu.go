package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// GPUs lists the NVIDIA GPUs that the caller may use, as CUDA_VISIBLE_DEVICES
// names them: those of visible where the variable is set, else all that
// nvidia-smi reports. A machine without nvidia-smi has none.
func GPUs(ctx context.Context, visible string, isSet bool) ([]string, error) {
	if isSet {
		return visibleDevices(visible), nil
	}
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=index", "--format=csv,noheader").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		if bytes.Contains(out, []byte("No devices were found")) {
			return nil, nil
		}
		return nil, fmt.Errorf("listing GPUs with nvidia-smi: %w: %s", err, bytes.TrimSpace(out))
	}
	return strings.Fields(string(out)), nil
}

// visibleDevices splits CUDA_VISIBLE_DEVICES the way CUDA reads it: what
// follows the first entry that is no device is not visible.
// Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
func visibleDevices(value string) []string {
	var devices []string
	for device := range strings.SplitSeq(value, ",") {
		device = strings.TrimSpace(device)
		if device == "" || strings.HasPrefix(device, "-") || device == "NoDevFiles" {
			break
		}
		devices = append(devices, device)
	}
	return devices
}
