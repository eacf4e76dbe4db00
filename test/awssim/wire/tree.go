package wire

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is deeper than any parameter of AWS's.
const maxDepth = 16

// tree makes Filter.1.Name=x, Filter.1.Value.1=y into maps and lists. The
// word "member", which the query protocol puts before numbers, is left out.
func tree(form url.Values) (map[string]any, error) {
	root := map[string]any{}
	for name, values := range form {
		if len(values) != 1 {
			return nil, Errorf("MalformedQueryString", "the parameter %s occurs %d times", name, len(values))
		}
		if err := plant(root, name, values[0]); err != nil {
			return nil, err
		}
	}
	for name, value := range root {
		root[name] = lists(value)
	}
	return root, nil
}

func plant(node map[string]any, name, value string) error {
	path := slices.DeleteFunc(strings.Split(name, "."), func(part string) bool { return part == "member" })
	if len(path) == 0 || len(path) > maxDepth {
		return Errorf("MalformedQueryString", "the parameter %q cannot be read", name)
	}
	last := len(path) - 1
	for _, part := range path[:last] {
		child, ok := node[part]
		if !ok {
			child = map[string]any{}
			node[part] = child
		}
		if node, ok = child.(map[string]any); !ok {
			return Errorf("MalformedQueryString", "the parameter %q is both a value and a structure", name)
		}
	}
	if _, taken := node[path[last]]; taken {
		return Errorf("MalformedQueryString", "the parameter %q is both a value and a structure", name)
	}
	node[path[last]] = value
	return nil
}

// lists makes maps whose keys are all numbers into lists, in their order.
func lists(value any) any {
	node, ok := value.(map[string]any)
	if !ok {
		return value
	}
	type entry struct {
		index int
		value any
	}
	var entries []entry
	numbered := true
	for name, child := range node {
		node[name] = lists(child)
		index, err := strconv.Atoi(name)
		numbered = numbered && err == nil && index >= 0
		entries = append(entries, entry{index, node[name]})
	}
	if !numbered {
		return node
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.index - b.index })
	list := make([]any, len(entries))
	for i, e := range entries {
		list[i] = e.value
	}
	return list
}
