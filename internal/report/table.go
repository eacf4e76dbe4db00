package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/fabric"
)

// row is one line of the table of nodes: the processes of one node that use the
// same network in the same way.
type row struct {
	node  string
	ranks []int
	how   how
	// edges counts those over a network that may have GPUDirect RDMA, gdr those
	// that use it.
	edges, gdr int
}

// how is what makes nodes alike.
type how struct {
	network, provider string
	nics              int
	gdr               string
	standing          standing
}

// standing sorts rows: what people must see comes first.
type standing int

const (
	wrong standing = iota // not what is expected
	unclear
	right
)

// columnNames head the table.
func columnNames() []string {
	return []string{"node", "ranks", "network", "provider", "NICs", "GDR"}
}

func (r row) cells() []string {
	nics := "-"
	if r.how.nics > 0 {
		nics = strconv.Itoa(r.how.nics)
	}
	gdr := r.how.gdr
	if gdr == partly {
		gdr = fmt.Sprintf("%d of %d", r.gdr, r.edges)
	}
	return []string{r.node, r.rankText(), r.how.network, r.how.provider, nics, gdr}
}

// rankText names the ranks, or counts processes where no rank is known.
func (r row) rankText() string {
	if len(r.ranks) == 0 {
		return "-"
	}
	return ranges(r.ranks)
}

const partly = "partly"

// rows lists the nodes of a verdict, the worst first, else in the order of their
// ranks.
func rows(v fabric.Verdict) []row {
	type key struct {
		node string
		how  how
	}
	at := map[key]int{}
	var all []row
	for _, p := range v.Processes {
		k := key{cmp.Or(p.Node, p.Host, "-"), howOf(p, v)}
		i, known := at[k]
		if !known {
			i = len(all)
			at[k] = i
			all = append(all, row{node: k.node, how: k.how})
		}
		r := &all[i]
		if p.Rank >= 0 && !slices.Contains(r.ranks, p.Rank) {
			r.ranks = append(r.ranks, p.Rank)
		}
		if p.Transport != fabric.TransportSocket {
			r.edges, r.gdr = r.edges+p.NetEdges, r.gdr+p.GDREdges
		}
	}
	for i := range all {
		slices.Sort(all[i].ranks)
		all[i].how.gdr = all[i].gdrWord()
	}
	slices.SortStableFunc(all, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.how.standing, b.how.standing), cmp.Compare(first(a.ranks), first(b.ranks)))
	})
	return all
}

// gdrWord tells whether the edges over the network use GPUDirect RDMA, which
// sockets have none of.
func (r row) gdrWord() string {
	switch {
	case r.edges == 0:
		return "-"
	case r.gdr == 0:
		return "no"
	case r.gdr == r.edges:
		return "yes"
	}
	return partly
}

// first is the lowest rank; nodes without one come last.
func first(ranks []int) int {
	if len(ranks) == 0 {
		return int(^uint(0) >> 1)
	}
	return ranks[0]
}

func howOf(p fabric.Process, v fabric.Verdict) how {
	h := how{network: strings.Join(p.Networks, "+"), provider: cmp.Or(p.Provider, "-"), nics: cmp.Or(p.NICs, p.Devices)}
	if h.network == "" {
		h.network = networkOf(p.Transport)
	}
	h.standing = standingOf(p, v)
	return h
}

func networkOf(t fabric.Transport) string {
	if t == fabric.TransportNone || t == fabric.TransportUnknown || t == "" {
		return "-"
	}
	return string(t)
}

// standingOf judges a process. One without edges between nodes is as good as
// its communicator.
func standingOf(p fabric.Process, v fabric.Verdict) standing {
	switch p.Transport {
	case fabric.TransportNone, "":
		if len(p.Causes) > 0 && v.Verdict == fabric.Fail {
			return wrong
		}
		return right
	case fabric.TransportUnknown:
		return unclear
	}
	if v.Expectation.Accepts(p.Transport) {
		return right
	}
	return wrong
}

// mostRows is how many nodes are shown one by one.
const mostRows = 8

// entry is a line of the table as it is shown: a row, or how many nodes more are
// like one.
type entry struct {
	row  row
	more int    // the number of nodes left out; 0 for a row
	like string // the node that they are like; empty where they differ
}

// shorten shows few of many nodes: of each kind one at least, and more of those
// that are wrong.
func shorten(all []row) []entry {
	kinds, members := byKind(all)
	if len(kinds) > mostRows {
		return append(firsts(kinds[:mostRows], members), entry{more: rest(kinds[mostRows:], members)})
	}
	spare := mostRows - len(kinds)
	var entries []entry
	for _, kind := range kinds {
		nodes := members[kind]
		shown := min(len(nodes), 1+spare)
		spare -= shown - 1
		for _, r := range nodes[:shown] {
			entries = append(entries, entry{row: r})
		}
		if more := len(nodes) - shown; more > 0 {
			entries = append(entries, entry{more: more, like: nodes[0].node})
		}
	}
	return entries
}

func byKind(all []row) (kinds []how, members map[how][]row) {
	members = map[how][]row{}
	for _, r := range all {
		if members[r.how] == nil {
			kinds = append(kinds, r.how)
		}
		members[r.how] = append(members[r.how], r)
	}
	return kinds, members
}

func firsts(kinds []how, members map[how][]row) []entry {
	var entries []entry
	for _, kind := range kinds {
		entries = append(entries, entry{row: members[kind][0]})
		if more := len(members[kind]) - 1; more > 0 {
			entries = append(entries, entry{more: more, like: members[kind][0].node})
		}
	}
	return entries
}

func rest(kinds []how, members map[how][]row) (nodes int) {
	for _, kind := range kinds {
		nodes += len(members[kind])
	}
	return nodes
}

// moreText says what is left out.
func (e entry) moreText() string {
	nodes := count(e.more, "node")
	if e.like == "" {
		return "and " + nodes + " more"
	}
	return "and " + nodes + " like " + e.like
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// mostRanges are written of a list of ranks.
const mostRanges = 4

// ranges writes numbers that ascend in a short form: 0-7,9. Of many it writes
// the first, and how many there are.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if end > i {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[end]))
		} else {
			parts = append(parts, strconv.Itoa(numbers[i]))
		}
		i = end + 1
	}
	if len(parts) > mostRanges {
		return fmt.Sprintf("%s,… (%d)", strings.Join(parts[:mostRanges-1], ","), len(numbers))
	}
	return strings.Join(parts, ",")
}

// missing lists the ranks that are not in the logs; nil where that is not known
// or none is.
func missing(v fabric.Verdict) []int {
	if v.Ranks.Seen >= v.Ranks.Expected {
		return nil
	}
	seen := map[int]bool{}
	for _, p := range v.Processes {
		seen[p.Rank] = true
	}
	var ranks []int
	for rank := range v.Ranks.Expected {
		if !seen[rank] {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}
