package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/nccllog"
)

// JobLogs are the logs of one job. Name is the files' [LogFile.Job] where they
// have one, otherwise what the files' names have in common, the id of the largest
// communicator, or the first file's name.
type JobLogs struct {
	Name string
	Logs []LogFile
}

// Jobs groups files into jobs, in the order of their first files. Files belong
// together if they name the same job, show the same communicator, or show the
// same process, as Ray's driver log and the workers' own files do. NCCL before
// 2.16 prints no ids: there, communicators of one size are taken for one.
//
// Files with NCCL's lines but without a communicator, and those without any
// line of NCCL, belong to the only job where there is one. Where there are
// several, the former make up a job of their own and the latter belong to none.
func Jobs(logs []LogFile) []JobLogs {
	logs = slices.DeleteFunc(slices.Clone(logs), func(l LogFile) bool { return l.Log == nil })
	sets := joined(logs)
	var mute, silent []LogFile // without a communicator, without NCCL
	var jobs []JobLogs
	for _, set := range sets {
		switch {
		case isJob(set):
			jobs = append(jobs, JobLogs{jobName(set), set})
		case speaks(set):
			mute = append(mute, set...)
		default:
			silent = append(silent, set...)
		}
	}
	switch {
	case len(jobs) == 0 && len(mute)+len(silent) > 0:
		jobs = []JobLogs{{jobName(logs), logs}}
	case len(jobs) == 1:
		jobs[0].Logs = inOrder(logs, append(append(jobs[0].Logs, mute...), silent...))
	case len(mute) > 0:
		jobs = append(jobs, JobLogs{jobName(mute), mute})
	}
	tellApart(jobs)
	return jobs
}

// tellApart adds the communicator's id to names that several jobs have.
func tellApart(jobs []JobLogs) {
	count := map[string]int{}
	for _, j := range jobs {
		count[j.Name]++
	}
	for i := range jobs {
		if id := largestID(jobs[i].Logs); count[jobs[i].Name] > 1 && id != "" && id != jobs[i].Name {
			jobs[i].Name += " " + id
		}
	}
}

// joined returns the sets of files that belong together.
func joined(logs []LogFile) [][]LogFile {
	sets := newUnion(len(logs))
	owner, known := map[string]int{}, map[string]int{} // the first file of each key, and of each process with a communicator
	join := func(key string, i int) {
		if first, ok := owner[key]; ok {
			sets.join(first, i)
			return
		}
		owner[key] = i
	}
	for i, log := range logs {
		for _, key := range commKeys(log) {
			join(key, i)
		}
		if log.Job != "" {
			join("job "+log.Job, i)
		}
		for _, p := range log.Processes {
			if key := processKey(p); len(p.Comms) > 0 && known[key] == 0 {
				known[key] = i + 1
			}
		}
	}
	for i, log := range logs {
		for _, p := range log.Processes {
			switch key := processKey(p); {
			case p.PID == 0 || len(p.Comms) > 0: // host names and pids repeat, communicators do not
			case known[key] > 0:
				sets.join(known[key]-1, i)
			default:
				join(key, i)
			}
		}
	}
	return sets.of(logs)
}

func processKey(p *nccllog.Process) string { return fmt.Sprintf("process %s %d", p.Host, p.PID) }

// union is a partition of the numbers below its length.
type union []int

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = i
	}
	return u
}

func (u union) find(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(i, j int) {
	i, j = u.find(i), u.find(j)
	u[max(i, j)] = min(i, j)
}

// of returns the parts of the list, in the order of their first members.
func (u union) of(logs []LogFile) [][]LogFile {
	at := map[int]int{}
	var sets [][]LogFile
	for i, log := range logs {
		root := u.find(i)
		if _, known := at[root]; !known {
			at[root] = len(sets)
			sets = append(sets, nil)
		}
		sets[at[root]] = append(sets[at[root]], log)
	}
	return sets
}

func isJob(set []LogFile) bool {
	return slices.ContainsFunc(set, func(l LogFile) bool { return l.Job != "" || len(commKeys(l)) > 0 })
}

// commKeys name the communicators that a file shows. Splits have no id, and are
// in the same process as the communicator that they were split from.
func commKeys(log LogFile) []string {
	var keys []string
	for _, p := range log.Processes {
		for _, c := range p.Comms {
			switch {
			case c.ID != "":
				keys = append(keys, "comm "+c.ID)
			case c.Parent == 0 && c.NRanks > 1:
				keys = append(keys, fmt.Sprintf("size %d", c.NRanks))
			default:
				keys = append(keys, fmt.Sprintf("comm %s %d %x", p.Host, p.PID, c.Ptr))
			}
		}
	}
	return keys
}

func speaks(logs []LogFile) bool {
	return slices.ContainsFunc(logs, func(l LogFile) bool {
		return len(l.Processes) > 0 || l.Info+l.Warn > 0 || l.Banner.Seen()
	})
}

// jobName is the name that the files carry, what their own names have in
// common, or the id of the largest communicator.
func jobName(logs []LogFile) string {
	for _, log := range logs {
		if log.Job != "" {
			return log.Job
		}
	}
	if name := stem(logs); name != "" {
		return name
	}
	return cmp.Or(largestID(logs), logs[0].Source)
}

// largestID is the id of the largest communicator, empty where none has one.
func largestID(logs []LogFile) string {
	id, size := "", 0
	for _, log := range logs {
		for _, p := range log.Processes {
			for _, c := range p.Comms {
				if c.ID != "" && c.NRanks > size {
					id, size = c.ID, c.NRanks
				}
			}
		}
	}
	return id
}

// stem is the beginning that the files' names share, without what counts the
// ranks: tcp for tcp.rank0.log and tcp.rank1.log. It is empty where they share
// no more than a folder.
func stem(logs []LogFile) string {
	name := logs[0].Source
	for _, log := range logs[1:] {
		same := 0
		for same < min(len(name), len(log.Source)) && name[same] == log.Source[same] {
			same++
		}
		name = name[:same]
	}
	if len(logs) > 1 {
		name = strings.TrimRight(name, "0123456789._-")
		name = strings.TrimRight(strings.TrimSuffix(name, "rank"), "._-")
	}
	if strings.HasSuffix(name, "/") {
		return ""
	}
	return strings.ToValidUTF8(name, "") // letters may differ in their last byte
}

// inOrder returns the files of the subset in the order of all.
func inOrder(all, subset []LogFile) []LogFile {
	at := map[*nccllog.Log]int{}
	for i, log := range all {
		at[log.Log] = i
	}
	slices.SortStableFunc(subset, func(a, b LogFile) int { return cmp.Compare(at[a.Log], at[b.Log]) })
	return subset
}

// oneJob joins groups that are no jobs by themselves: a job whose ranks never
// made a communicator of all, as where HSDP's groups are made when first used,
// falls apart. They are one job if the GPUs of all are as many as its ranks, and
// no two groups share one.
func oneJob(logs []LogFile, jobs []JobLogs, ranks int) []JobLogs {
	if ranks == 0 || len(jobs) < 2 {
		return jobs
	}
	var joined []LogFile
	all, names, sum := map[gpu]bool{}, map[string]bool{}, 0
	for _, job := range jobs {
		own := gpusOf(job.Logs)
		sum += len(own)
		maps.Copy(all, own)
		for _, log := range job.Logs {
			names[log.Job] = true
		}
		joined = append(joined, job.Logs...)
	}
	delete(names, "")
	if len(all) != ranks || sum != ranks || len(names) > 1 {
		return jobs
	}
	joined = inOrder(logs, joined)
	return []JobLogs{{jobName(joined), joined}}
}

func gpusOf(logs []LogFile) map[gpu]bool {
	all := map[gpu]bool{}
	for _, log := range logs {
		for _, p := range log.Processes {
			for _, c := range p.Comms {
				if at := (gpu{address(p), c.BusID}); isShared(c) && at.known() {
					all[at] = true
				}
			}
		}
	}
	return all
}

// JudgeAll groups the logs into jobs as [Jobs] does and judges each. What else
// is known counts for each of them; groups that make up a job of
// [Evidence.Ranks] together only are one. Without logs there is one job without
// files.
func JudgeAll(ev Evidence) Report {
	jobs := oneJob(ev.Logs, Jobs(ev.Logs), ev.Ranks)
	if len(jobs) == 0 {
		jobs = []JobLogs{{Logs: ev.Logs}}
	}
	r := Report{Jobs: make([]Job, 0, len(jobs))}
	for _, logs := range jobs {
		ev.Logs = logs.Logs
		job := Job{Name: logs.Name, Files: make([]string, 0, len(logs.Logs)), Verdict: Judge(ev)}
		for _, log := range logs.Logs {
			job.Files = append(job.Files, log.Source)
		}
		r.Jobs = append(r.Jobs, job)
	}
	r.Settle()
	return r
}

// Settle makes the report's own fields those of the worst of its jobs, of which
// there must be one at least: FAIL, then UNKNOWN, then PASS, the first of
// equals. It is for those who change the jobs.
func (r *Report) Settle() {
	r.Verdict = slices.MaxFunc(r.Jobs, func(a, b Job) int {
		return cmp.Compare(a.Verdict.Verdict.severity(), b.Verdict.Verdict.severity())
	}).Verdict
}
