package kubernetes

// WorkersThatFit is how many of the workers that are needed have a node in the
// cluster, once those end that run there. All of them where an autoscaler makes
// nodes, and where nobody can tell.
func WorkersThatFit(s State, n Need) int {
	v := newView(s, n)
	zones := v.tallies()
	if s.Nodes.Err != nil || s.Use.Err != nil || len(zones) == 0 || zones[0].later() == 0 || v.Autoscaler() != "" {
		return n.Nodes
	}
	return min(n.Nodes, zones[0].later())
}
