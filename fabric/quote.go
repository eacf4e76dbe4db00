package fabric

import (
	"cmp"
	"slices"
)

// maxQuotes keeps a verdict readable.
const maxQuotes = 6

func (r reason) quotes(p *process) []Quote {
	quotes := make([]Quote, 0, len(r.facts))
	for _, f := range r.facts {
		quotes = append(quotes, quote(p.log, f))
	}
	return quotes
}

// netQuotes are the lines that show which network a process uses: the provider,
// the choice, and one edge.
func netQuotes(p *process, t Transport) []Quote {
	var quotes []Quote
	if n := len(p.Providers); n > 0 && t != TransportSocket && t != TransportIB {
		quotes = append(quotes, quote(p.log, p.Providers[n-1].Fact))
	}
	for _, n := range p.Networks {
		if p.transport(n.Name) == t {
			quotes = append(quotes, quote(p.log, n.Fact))
		}
	}
	for _, e := range p.net {
		if p.transport(e.Net) == t && e.Text != "" {
			return append(quotes, quote(p.log, e.Fact))
		}
	}
	return quotes
}

// tidy takes the first quotes, each once, in the order of the files.
func tidy(quotes []Quote) []Quote {
	kept := []Quote{}
	for _, q := range quotes {
		if q.Line > 0 && q.Text != "" && !slices.Contains(kept, q) && len(kept) < maxQuotes {
			kept = append(kept, q)
		}
	}
	slices.SortStableFunc(kept, func(a, b Quote) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return kept
}
