package controlplane

import (
	"context"
	"fmt"

	admission "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// requestedCPU is what every container asks for on real nodes. They share the
// CPUs of one machine, and a pod for a node of 48 would wait for ever.
const requestedCPU = "100m"

// lowerRequests has the apiserver lower what new pods ask for.
func (c *Cluster) lowerRequests(ctx context.Context) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: "trainyard-test-cpu"}
	policies := client.AdmissionregistrationV1()
	_, err = policies.MutatingAdmissionPolicies().Create(ctx, &admission.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: cpuPolicy()}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating a policy: %w", err)
	}
	_, err = policies.MutatingAdmissionPolicyBindings().Create(ctx, &admission.MutatingAdmissionPolicyBinding{
		ObjectMeta: meta, Spec: admission.MutatingAdmissionPolicyBindingSpec{PolicyName: meta.Name},
	}, metav1.CreateOptions{})
	return err
}

func cpuPolicy() admission.MutatingAdmissionPolicySpec {
	return admission.MutatingAdmissionPolicySpec{
		FailurePolicy:      ptr.To(admission.Fail),
		ReinvocationPolicy: admission.NeverReinvocationPolicy,
		MatchConstraints: &admission.MatchResources{ResourceRules: []admission.NamedRuleWithOperations{{
			RuleWithOperations: admission.RuleWithOperations{
				Operations: []admission.OperationType{admission.Create},
				Rule:       admission.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{string(corev1.ResourcePods)}},
			},
		}}},
		Mutations: []admission.Mutation{{
			PatchType: admission.PatchTypeApplyConfiguration,
			ApplyConfiguration: &admission.ApplyConfiguration{Expression: `Object{spec: Object.spec{
				containers: object.spec.containers.map(c, Object.spec.containers{
					name: c.name,
					resources: Object.spec.containers.resources{requests: {"cpu": "` + requestedCPU + `"}}
				})
			}}`},
		}},
	}
}
