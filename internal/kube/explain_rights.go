package kube

import (
	"fmt"
	"regexp"
)

// denial is the sentence of RBAC, as k8s.io/apiserver writes it.
var denial = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)"| at the cluster scope)?(?:: (.*))?$`)

// quotaDenial is the sentence of the quota admission plugin.
var quotaDenial = regexp.MustCompile(`(?:exceeded|failed) quota: .*$`)

// forbidden tells RBAC, quotas and other admission plugins apart: all three
// answer 403.
func (c *Cluster) forbidden(message string) (text, hint string) {
	if quota := quotaDenial.FindString(message); quota != "" {
		return quota, "ask for less, or for a larger quota; this shows what is used: kubectl describe quota" + c.flags(c.Namespace)
	}
	m := denial.FindStringSubmatch(message)
	if m == nil {
		return "the cluster does not allow it: " + message, ""
	}
	user, verb, resource, group, namespace, why := m[1], m[2], m[3], m[4], m[5], m[6]
	if group != "" {
		resource += "." + group
	}
	where := "in the whole cluster"
	if namespace != "" {
		where = fmt.Sprintf("in namespace %q", namespace)
	}
	text = fmt.Sprintf("user %q may not %s %s %s", user, verb, resource, where)
	if why != "" {
		text += " (" + why + ")"
	}
	if user == "system:anonymous" {
		return text, fmt.Sprintf("context %q sends no credentials that the server knows: check its user in the kubeconfig", c.Context)
	}
	return text, "ask for a role that allows it; this shows what is allowed: kubectl auth can-i --list" + c.flags(namespace)
}

// flags are those of kubectl that lead it to the same place.
func (c *Cluster) flags(namespace string) string {
	text := ""
	if c.Context != "" {
		text += " --context " + c.Context
	}
	if namespace != "" {
		text += " --namespace " + namespace
	}
	return text
}

// unauthorized says what is wrong with the credentials, where it shows.
func (c *Cluster) unauthorized() (text, hint string) {
	text = fmt.Sprintf("the API server at %s does not accept the credentials of context %q", c.Server, c.Context)
	if c.Context == "" {
		text = fmt.Sprintf("the API server at %s does not accept the pod's service account", c.Server)
	}
	if what := expired(c.Config); what != "" {
		text += ": " + what
	}
	if plugin := c.Config.ExecProvider; plugin != nil {
		return text, fmt.Sprintf("they come from %q: log in again there, and see that this identity may use the cluster", plugin.Command)
	}
	return text, "get new ones: log in again, or have the kubeconfig written anew. On EKS: aws eks update-kubeconfig --name NAME"
}
