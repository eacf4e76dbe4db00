package raycluster

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Volume is a volume with the place where all pods see it: a claim, a folder
// of the node, a CSI driver's, or any other of Kubernetes' sources.
type Volume struct {
	corev1.VolumeSource `json:",inline"`

	Name      string `json:"name,omitempty"` // empty: by its place in the list
	MountPath string `json:"mountPath"`
	SubPath   string `json:"subPath,omitempty"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
}

// ParseVolume reads a Volume from JSON, with Kubernetes' names of fields.
func ParseVolume(text string) (Volume, error) {
	var v Volume
	if err := strict(text, &v); err != nil {
		return v, err
	}
	var problems []error
	if n := v.sources(); n != 1 {
		problems = append(problems, fmt.Errorf("%d volume sources, must have one, such as persistentVolumeClaim, hostPath, csi, ephemeral, nfs", n))
	}
	if !path.IsAbs(v.MountPath) || path.Clean(v.MountPath) == "/" {
		problems = append(problems, fmt.Errorf("mountPath %q, must be a folder such as /data", v.MountPath))
	}
	if v.Name != "" {
		for _, wrong := range validation.IsDNS1123Label(v.Name) {
			problems = append(problems, fmt.Errorf("name %q: %s", v.Name, wrong))
		}
	}
	return v, errors.Join(problems...)
}

// sources counts the sources that are set: each is a pointer of VolumeSource.
func (v Volume) sources() int {
	n := 0
	for _, field := range reflect.ValueOf(v.VolumeSource).Fields() {
		if !field.IsNil() {
			n++
		}
	}
	return n
}

// ParseToleration reads a toleration from JSON.
func ParseToleration(text string) (corev1.Toleration, error) {
	var t corev1.Toleration
	if err := strict(text, &t); err != nil {
		return t, err
	}
	var problems []error
	switch t.Operator {
	case "", corev1.TolerationOpEqual, corev1.TolerationOpExists:
	default:
		problems = append(problems, fmt.Errorf("operator %q, must be Equal or Exists", t.Operator))
	}
	switch t.Effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		problems = append(problems, fmt.Errorf("effect %q, must be NoSchedule, PreferNoSchedule or NoExecute", t.Effect))
	}
	if t.Key == "" && t.Operator != corev1.TolerationOpExists {
		problems = append(problems, errors.New("no key, must have one or the operator Exists"))
	}
	if t.Operator == corev1.TolerationOpExists && t.Value != "" {
		problems = append(problems, fmt.Errorf("value %q with the operator Exists, must be left out", t.Value))
	}
	return t, errors.Join(problems...)
}

// strict reads JSON into a typed value and refuses fields that it does not have.
func strict(text string, v any) error {
	if err := yaml.UnmarshalStrict([]byte(text), v); err != nil {
		return plainly(err)
	}
	return nil
}

func volumes(all []Volume) []corev1.Volume {
	var list []corev1.Volume
	for i, v := range all {
		source := v.VolumeSource
		list = append(list, corev1.Volume{Name: v.name(i), VolumeSource: *source.DeepCopy()})
	}
	return list
}

func mounts(all []Volume) []corev1.VolumeMount {
	var list []corev1.VolumeMount
	for i, v := range all {
		list = append(list, corev1.VolumeMount{Name: v.name(i), MountPath: v.MountPath, SubPath: v.SubPath, ReadOnly: v.ReadOnly})
	}
	return list
}

func (v Volume) name(i int) string {
	if v.Name != "" {
		return v.Name
	}
	return "volume-" + strconv.Itoa(i)
}

var (
	wrongType = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field [^.]*\.(\S+) of type (\S+)`)
	prefixes  = regexp.MustCompile(`^error unmarshaling JSON: (while decoding JSON: )?(json: )?`)
)

// plainly leaves out which library says what, and which structs of Go's it
// means.
func plainly(err error) error {
	text := prefixes.ReplaceAllString(err.Error(), "")
	return errors.New(wrongType.ReplaceAllString(text, "$2 is a $1, must be of type $3"))
}
