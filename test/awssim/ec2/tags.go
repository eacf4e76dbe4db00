package ec2

import (
	"slices"
	"strings"

	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// Tag is a label of an object.
type Tag struct {
	Key   string
	Value string `aws:"value"`
}

// tagSpecification is tags for a kind of objects that a call makes.
type tagSpecification struct {
	ResourceType string
	Tags         []Tag `aws:"Tag"`
}

// tagsFor picks the tags of a kind of objects.
func tagsFor(specifications []tagSpecification, resource string) []Tag {
	var tags []Tag
	for _, s := range specifications {
		if s.ResourceType == resource {
			tags = append(tags, s.Tags...)
		}
	}
	return tags
}

// maxTags is the most that an object may have.
const maxTags = 50

// checkTags refuses what AWS refuses.
func checkTags(tags []Tag) error {
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "" || len(t.Key) > 128:
			return wire.Errorf("InvalidParameterValue", "Tag key must be between 1 and 128 characters long")
		case len(t.Value) > 256:
			return wire.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters")
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return wire.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case seen[t.Key]:
			return wire.Errorf("InvalidParameterValue", "Duplicate tag key '%s' specified.", t.Key)
		}
		seen[t.Key] = true
	}
	if len(tags) > maxTags {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
	}
	return nil
}

type tagsIn struct {
	Resources []string `aws:"ResourceId"`
	Tags      []Tag    `aws:"Tag"`
}

func (s *Service) createTags(c *world.Call, in tagsIn) (done, error) {
	if err := checkTags(in.Tags); err != nil {
		return done{}, err
	}
	return s.changeTags(c, in, func(m *meta) error {
		tags := slices.Clone(m.Tags)
		for _, t := range in.Tags {
			tags = append(slices.DeleteFunc(tags, func(old Tag) bool { return old.Key == t.Key }), t)
		}
		if err := checkTags(tags); err != nil {
			return err
		}
		m.Tags = tags
		return nil
	})
}

func (s *Service) deleteTags(c *world.Call, in tagsIn) (done, error) {
	return s.changeTags(c, in, func(m *meta) error {
		m.Tags = slices.DeleteFunc(slices.Clone(m.Tags), func(have Tag) bool { // answers that are repeated keep what they said
			return len(in.Tags) == 0 || slices.ContainsFunc(in.Tags, func(t Tag) bool {
				return t.Key == have.Key && (t.Value == "" || t.Value == have.Value)
			})
		})
		return nil
	})
}

// changeTags changes all objects or, where one is missing or not allowed, none.
func (s *Service) changeTags(c *world.Call, in tagsIn, change func(*meta) error) (done, error) {
	var found []*meta
	for _, id := range in.Resources {
		o, err := find(c, kind{name: "ID", missing: "InvalidID"}, s.at(c).objects(), id)
		if err != nil {
			return done{}, err
		}
		m := o.common()
		context := resourceContext(requestContext(in.Tags), m.Tags)
		if err := c.Authorize(c.Action(), c.ARN(resourceOf(m.id)+"/"+m.id), context); err != nil {
			return done{}, err
		}
		found = append(found, m)
	}
	if len(found) == 0 {
		return done{}, wire.Errorf("MissingParameter", "The request must contain the parameter resourceIdSet")
	}
	if err := c.Proceed(); err != nil {
		return done{}, err
	}
	for _, m := range found {
		if err := change(m); err != nil {
			return done{}, err
		}
	}
	return done{true}, nil
}

// resourceOf is the kind of an object, by its id.
func resourceOf(id string) string {
	prefix := id[:strings.LastIndex(id, "-")]
	names := map[string]string{
		"i": "instance", "cr": "capacity-reservation", "rtb": "route-table", "igw": "internet-gateway", "nat": "natgateway",
		"eipalloc": "elastic-ip", "sg": "security-group", "pg": "placement-group",
	}
	if name, ok := names[prefix]; ok {
		return name
	}
	return prefix
}

type tagDescription struct {
	Key          string
	Value        string `aws:"value"`
	ResourceID   string
	ResourceType string
}

type describeTagsOut struct {
	Tags      []tagDescription `aws:"tagSet"`
	NextToken string
}

func (s *Service) describeTags(c *world.Call, in listing) (out describeTagsOut, err error) {
	var all []tagDescription
	for _, o := range s.at(c).objects() {
		m := o.common()
		if !c.Visible(m.made) {
			continue
		}
		for _, t := range m.Tags {
			all = append(all, tagDescription{t.Key, t.Value, m.id, resourceOf(m.id)})
		}
	}
	out.Tags, out.NextToken, err = narrow(c, manyPages, all, in, keys[tagDescription]{
		"key":           one(func(t tagDescription) string { return t.Key }),
		"value":         one(func(t tagDescription) string { return t.Value }),
		"resource-id":   one(func(t tagDescription) string { return t.ResourceID }),
		"resource-type": one(func(t tagDescription) string { return t.ResourceType }),
	})
	return out, err
}
