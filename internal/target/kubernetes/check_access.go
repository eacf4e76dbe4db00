package kubernetes

import "strings"

// permissions judges what the user may do in the namespace: everything that is
// forbidden is named.
func (v view) permissions() []Finding {
	consequences := map[Purpose]Finding{
		ForTrain: {Level: Problem, Consequence: "no job can run"},
		ForDown:  {Level: Problem, Consequence: "what a job made could not be removed again"},
		ForWatch: {Level: Warning, Consequence: "where a job waits or fails, trainyard cannot say why"},
	}
	var all []Finding
	for _, purpose := range []Purpose{ForTrain, ForDown, ForWatch} {
		denied, unclear := v.rights(purpose)
		if len(unclear) > 0 {
			all = append(all, unseen("permissions", unclear[0].Err, "whether trainyard may "+names(unclear)+" is not known", "kubectl -n "+v.Namespace+" auth can-i --list")...)
		}
		if len(denied) > 0 {
			f := consequences[purpose]
			f.Check, f.What = "permissions", "you may not "+names(denied)
			f.Remedy = "ask an administrator for a Role with it; see it by: kubectl" + scope(denied[0]) + " auth can-i " + canI(denied[0])
			all = append(all, f)
		}
	}
	if len(all) > 0 {
		return all
	}
	return ok("permissions", "all that a job needs in namespace %s", v.Namespace)
}

// addonRights judges whether the user could install what the cluster lacks.
func (v view) addonRights() []Finding {
	denied, unclear := v.rights(ForAddons)
	if len(denied)+len(unclear) == 0 {
		return ok("add-ons", "you may install what is missing")
	}
	return []Finding{{
		Level: OK, Check: "add-ons", What: "installing what is missing takes an administrator: you may not " + names(append(denied, unclear...)),
	}}
}

func (v view) rights(purpose Purpose) (denied, unclear []Permission) {
	for _, p := range v.Permissions {
		switch {
		case p.Purpose != purpose:
		case p.Err != nil:
			unclear = append(unclear, p)
		case !p.Allowed:
			denied = append(denied, p)
		}
	}
	return denied, unclear
}

// names lists permissions, the verbs of a resource together: "get, list
// rayclusters.ray.io; create pods/portforward; in the whole cluster: list nodes".
func names(permissions []Permission) string {
	var here, wide []string
	for i := 0; i < len(permissions); {
		p := permissions[i]
		var verbs []string
		for ; i < len(permissions) && permissions[i].Resource == p.Resource && permissions[i].Namespace == p.Namespace; i++ {
			verbs = append(verbs, permissions[i].Verb)
		}
		_, resource, _ := strings.Cut(p.String(), " ")
		text := strings.Join(verbs, ", ") + " " + resource
		if p.Namespace == "" {
			wide = append(wide, text)
			continue
		}
		here = append(here, text)
	}
	text := strings.Join(here, "; ")
	if len(wide) > 0 && text != "" {
		text += "; "
	}
	if len(wide) > 0 {
		text += "in the whole cluster: " + few(wide, manyValues)
	}
	return text
}

func scope(p Permission) string {
	if p.Namespace == "" {
		return ""
	}
	return " -n " + p.Namespace
}

// canI are the arguments of kubectl auth can-i.
func canI(p Permission) string {
	if p.Namespace == "" {
		return p.String() + " -A"
	}
	return p.String()
}
