package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/awssim/world"
)

func TestScoreCache(t *testing.T) {
	l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) { a.NewSpotScoreLimit = 1 }))
	search := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1")
	first := rowIn(t, mustFind(t, search).Rows(), "us-east-1d")
	asked := len(l.actions("GetSpotPlacementScores"))
	search.Scores = reopened(search.Scores)
	again := rowIn(t, mustFind(t, search).Rows(), "us-east-1d")
	if n := len(l.actions("GetSpotPlacementScores")); n != asked || again.SpotScore == nil || !again.SpotScore.Asked.Equal(first.SpotScore.Asked) {
		t.Errorf("asked again: %d calls, score %+v, first %+v", n, again.SpotScore, first.SpotScore)
	}
	// An old answer is asked again; where AWS refuses, it is better than none.
	l.World.Locked(func() {
		l.World.Conditions.Faults = []world.Fault{{Action: "GetSpotPlacementScores", Kind: world.Fail, Code: "MaxConfigLimitExceeded", Status: 400}}
	})
	l.World.Clock.Advance(time.Hour)
	old := rowIn(t, mustFind(t, search).Rows(), "us-east-1d")
	if old.SpotScore == nil || old.SpotScore.Stale == "" || old.SpotScore.Value != first.SpotScore.Value {
		t.Errorf("an old score: %+v", old.SpotScore)
	}
	// Another question is refused, which is no score of 0.
	search.Need.Nodes = 3
	if r := rowIn(t, mustFind(t, search).Rows(), "us-east-1d"); r.SpotScore != nil || r.Problems[SpotScore] != "too many asked" {
		t.Errorf("a refused question: %+v %v", r.SpotScore, r.Problems)
	}
}

// TestScoreAge: an answer is kept for a day, and one of the future is none.
func TestScoreAge(t *testing.T) {
	now, question := time.Now(), scoreQuestion{Account: "111122223333", Region: "us-east-1", Type: "g6.12xlarge", Nodes: 2}
	for age, want := range map[time.Duration]bool{0: true, time.Minute: true, keptScore: true, keptScore + time.Second: false, -time.Second: false, -keptScore: false} {
		c := OpenScores(t.TempDir())
		c.put(question, scored{asked: now.Add(-age)})
		if _, got, ok := c.get(question, now); ok != want || ok && got != age {
			t.Errorf("an answer %s old: %v, said to be %s old", age, ok, got)
		}
		if err := c.Save(now); err != nil {
			t.Error(err)
		}
		if _, _, ok := reopened(c).get(question, now); ok != want {
			t.Errorf("an answer %s old was saved: %v", age, ok)
		}
	}
}

// TestScoresUnsaved: what cannot be remembered costs nothing else.
func TestScoresUnsaved(t *testing.T) {
	l := newLab(t, world.Default())
	search := l.search(t, needOf(t, "g6.12xlarge", 2), "us-east-1")
	search.Scores = OpenScores("/dev/null/cache")
	if found := mustFind(t, search); found.Unsaved == nil || rowIn(t, found.Rows(), "us-east-1d").SpotScore == nil {
		t.Errorf("unsaved: %v", found.Unsaved)
	}
}

func reopened(c *ScoreCache) *ScoreCache {
	return OpenScores(strings.TrimSuffix(c.path, "/spot-scores.json"))
}
