package raycluster

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// YAML writes a RayCluster or RayJob without what Go's types add to it: the
// status, which is not ours to say, and structs that are empty.
func YAML(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	delete(tree, "status")
	tidy(tree)
	out, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	return out, nil
}

// optional are the structs that mean nothing when empty; others, such as
// emptyDir, do.
var optional = map[string]bool{"resources": true, "scaleStrategy": true, "status": true, "metadata": true}

func tidy(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			tidy(value)
			if object, ok := value.(map[string]any); value == nil || ok && len(object) == 0 && optional[key] {
				delete(tree, key)
			}
		}
	case []any:
		for _, value := range tree {
			tidy(value)
		}
	}
}
