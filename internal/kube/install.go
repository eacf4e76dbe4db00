package kube

// Commands that install what a cluster may lack, from the charts of those who
// make it.
const (
	InstallKubeRay = "helm install kuberay-operator kuberay-operator --repo https://ray-project.github.io/kuberay-helm --version 1.6.2 --namespace kuberay --create-namespace"
	InstallNVIDIA  = "helm install nvidia-device-plugin nvidia-device-plugin --repo https://nvidia.github.io/k8s-device-plugin --namespace nvidia-device-plugin --create-namespace"
	InstallEFA     = "helm install aws-efa-k8s-device-plugin aws-efa-k8s-device-plugin --repo https://aws.github.io/eks-charts --namespace kube-system"
)
