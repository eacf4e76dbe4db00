package kube

// Commands that install what a cluster may lack.
const (
	InstallKubeRay = "trainyard addons install kuberay"
	InstallNVIDIA  = "trainyard addons install nvidia"
	InstallEFA     = "trainyard addons install efa"
)
