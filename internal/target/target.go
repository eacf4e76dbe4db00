// Package target says what every place that can run a job has in common. Each
// place (this machine, a Kubernetes cluster, …) lies in a package below it and
// ends in one thing: the address of a Ray dashboard.
package target

// Endpoint is how a Ray cluster's HTTP API is reached.
type Endpoint struct {
	Address string // base URL, "http://127.0.0.1:8265"
	Token   string // bearer token, a secret
}

// Facts are what is known of a cluster without running a job on it.
type Facts struct {
	Nodes          int // nodes that take work
	WorkersPerNode int // training workers that fit on one
	GPUs           int // GPUs in all
}

// Workers is how many training workers run at once.
func (f Facts) Workers() int { return f.Nodes * f.WorkersPerNode }
