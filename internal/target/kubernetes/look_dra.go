package kubernetes

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Devices are what one DRA driver offers.
type Devices struct {
	Driver string
	Nodes  map[string]int // devices by node
}

func (e eye) devices(ctx context.Context) ([]Devices, error) {
	var all []Devices
	at := map[string]int{}
	err := each(ctx, e, func() client.ObjectList { return &resourcev1.ResourceSliceList{} }, client.ListOptions{}, func(s *resourcev1.ResourceSlice) {
		if s.Spec.NodeName == nil {
			return
		}
		i, known := at[s.Spec.Driver]
		if !known {
			i = len(all)
			at[s.Spec.Driver] = i
			all = append(all, Devices{s.Spec.Driver, map[string]int{}})
		}
		all[i].Nodes[*s.Spec.NodeName] += len(s.Spec.Devices)
	})
	return all, err
}

func (e eye) classes(ctx context.Context) ([]string, error) {
	var names []string
	err := each(ctx, e, func() client.ObjectList { return &resourcev1.DeviceClassList{} }, client.ListOptions{}, func(c *resourcev1.DeviceClass) {
		names = append(names, c.Name)
	})
	return names, err
}
