package raycluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"sigs.k8s.io/yaml"
)

// set changes one value: spec.workerGroupSpecs[0].replicas=4. The value is
// YAML, or text where the field is text and YAML would see a number. A dot in
// a key is written \. as Helm does it.
func set(cluster *rayv1.RayCluster, assignment string) (*rayv1.RayCluster, error) {
	path, text, ok := strings.Cut(assignment, "=")
	if !ok || path == "" {
		return nil, errors.New("must be PATH=VALUE, such as spec.workerGroupSpecs[0].replicas=4")
	}
	steps, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value = text
	}
	changed, err := with(cluster, steps, value)
	if err != nil && value != any(text) {
		if asText, textErr := with(cluster, steps, text); textErr == nil {
			return asText, nil
		}
	}
	return changed, err
}

func with(cluster *rayv1.RayCluster, steps []step, value any) (*rayv1.RayCluster, error) {
	before, err := json.Marshal(cluster)
	if err != nil {
		return nil, fmt.Errorf("encoding the cluster: %w", err)
	}
	var tree any
	if err := json.Unmarshal(before, &tree); err != nil {
		return nil, fmt.Errorf("decoding the cluster: %w", err)
	}
	if tree, err = put(tree, steps, value); err != nil {
		return nil, err
	}
	after, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encoding the value: %w", err)
	}
	return decode(after, cluster)
}

// step is one step down a tree: a key, or a place in a list.
type step struct {
	key   string
	index int // -1 for a key
}

func parsePath(path string) ([]step, error) {
	var steps []step
	var key strings.Builder
	flush := func() {
		if key.Len() > 0 {
			steps = append(steps, step{key.String(), -1})
			key.Reset()
		}
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path):
			i++
			key.WriteByte(path[i])
		case c == '.':
			flush()
		case c == '[':
			flush()
			end := strings.IndexByte(path[i:], ']')
			if end < 0 {
				return nil, fmt.Errorf("path %q has a [ without its ]", path)
			}
			index, err := strconv.Atoi(path[i+1 : i+end])
			if err != nil || index < 0 {
				return nil, fmt.Errorf("path %q has the index %q, must be a number", path, path[i+1:i+end])
			}
			steps = append(steps, step{index: index})
			i += end
		default:
			key.WriteByte(c)
		}
	}
	flush()
	return steps, nil
}

// put returns the tree with a value in its place; what is missing on the way
// is made. null takes a value away.
func put(tree any, steps []step, value any) (any, error) {
	if len(steps) == 0 {
		return value, nil
	}
	next := steps[0]
	if next.index >= 0 {
		list, ok := tree.([]any)
		switch {
		case tree != nil && !ok:
			return nil, fmt.Errorf("[%d] of what is no list", next.index)
		case next.index > len(list):
			return nil, fmt.Errorf("[%d] of a list of %d", next.index, len(list))
		case next.index == len(list):
			list = append(list, nil)
		}
		below, err := put(list[next.index], steps[1:], value)
		list[next.index] = below
		return list, err
	}
	object, ok := tree.(map[string]any)
	switch {
	case tree != nil && !ok:
		return nil, fmt.Errorf("key %q of what has no keys", next.key)
	case object == nil:
		object = map[string]any{}
	}
	below, err := put(object[next.key], steps[1:], value)
	if below == nil {
		delete(object, next.key)
	} else {
		object[next.key] = below
	}
	return object, err
}
