package cli

import (
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

const (
	shownJobs    = 10
	shownCommand = 40 // characters
)

// short is the beginning of a command, as a terminal may show it.
func short(command string) string {
	runes := []rune(clean(command))
	if len(runes) <= shownCommand {
		return string(runes)
	}
	return string(runes[:shownCommand-1]) + "…"
}

// printKubernetesStatus shows each RayCluster with its pods and jobs.
func (a *app) printKubernetesStatus(s kubernetes.Status, output string) {
	if output == "json" {
		a.printJSON(s)
		return
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(a.streams.Out, format+"\n", args...) }
	say("context %s, namespace %s", orDash(s.Context), s.Namespace)
	if s.Problem != "" {
		say("GPUs and EFA interfaces of the nodes are not known: %s", s.Problem)
	} else {
		say("GPUs %d of %d free, EFA interfaces %d of %d free, on all nodes", s.GPUs.Free, s.GPUs.All, s.EFA.Free, s.EFA.All)
	}
	if len(s.Clusters) == 0 {
		say("no RayCluster of trainyard's runs")
	}
	for _, c := range s.Clusters {
		say("\nRayCluster %s of %s, made %s", c.Name, orDash(c.Owner), ago(c.Created))
		rows := [][]string{{"POD", "ROLE", "NODE", "GPUS", "EFA", "STATE"}}
		for _, p := range c.Pods {
			state := "ready"
			if !p.Ready {
				state = clean(p.Reason)
			}
			rows = append(rows, []string{p.Name, p.Role, orDash(p.Node), fmt.Sprint(p.GPUs), fmt.Sprint(p.EFA), state})
		}
		printTable(a.streams.Out, rows)
		switch {
		case c.Problem != "":
			say("jobs are not known: %s", c.Problem)
		case len(c.Jobs) == 0:
			say("no jobs")
		default:
			rows = [][]string{{"JOB", "STATE", "STARTED", "COMMAND"}}
			for _, j := range c.Jobs[:min(len(c.Jobs), shownJobs)] {
				rows = append(rows, []string{j.ID, strings.ToLower(string(j.Status)), ago(j.Started), short(j.Entrypoint)})
			}
			printTable(a.streams.Out, rows)
			if more := len(c.Jobs) - shownJobs; more > 0 {
				say("and %d older ones", more)
			}
		}
	}
}
