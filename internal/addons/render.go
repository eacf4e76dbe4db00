package addons

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// crdFolder is where a chart keeps CustomResourceDefinitions.
const crdFolder = "crds/"

// render returns the objects of a chart, CustomResourceDefinitions among them.
// The chart's dependencies and miscellaneous files are left out: what
// [contentOf] does not see is not used. Values are put together here rather than
// by Helm, whose checks of schemas cost every start of the program 4 ms.
func render(ctx context.Context, c *chart.Chart, values map[string]any) ([]*unstructured.Unstructured, error) {
	c.SetDependencies()
	c.Files = slices.DeleteFunc(c.Files, func(f *common.File) bool { return !strings.HasPrefix(f.Name, crdFolder) })
	metadata, err := helmchart.NewAccessor(c)
	if err != nil {
		return nil, fmt.Errorf("reading chart %s: %w", c.Name(), err)
	}
	all := common.Values{
		"Chart":        metadata.MetadataAsMap(),
		"Capabilities": common.DefaultCapabilities,
		"Release":      map[string]any{"Name": c.Name(), "Namespace": Namespace, "Service": "Helm", "Revision": 1, "IsInstall": true, "IsUpgrade": false},
		"Values":       loader.MergeMaps(c.Values, values),
	}
	files, err := engine.Engine{}.RenderWithContext(ctx, c, all)
	if err != nil {
		return nil, fmt.Errorf("rendering chart %s: %w", c.Name(), err)
	}
	var objects []*unstructured.Unstructured
	for _, crd := range c.CRDObjects() {
		more, err := decode(crd.File.Data)
		if err != nil {
			return nil, fmt.Errorf("reading %s of chart %s: %w", crd.Name, c.Name(), err)
		}
		objects = append(objects, more...)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		more, err := decode([]byte(files[name]))
		if err != nil {
			return nil, fmt.Errorf("reading what %s of chart %s rendered: %w", name, c.Name(), err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// decode reads the objects of a YAML file.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		content := map[string]any{}
		if err := yaml.Unmarshal(document, &content); err != nil {
			return nil, err
		}
		if len(content) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: content})
		}
	}
}
