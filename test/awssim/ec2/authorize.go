package ec2

import (
	"maps"

	"github.com/trainyard/trainyard/test/awssim/world"
)

// requestContext is the condition keys of tags that a call brings.
func requestContext(tags []Tag) world.Context {
	context := world.Context{}
	for _, t := range tags {
		context["aws:RequestTag/"+t.Key] = []string{t.Value}
		context["aws:TagKeys"] = append(context["aws:TagKeys"], t.Key)
	}
	return context
}

// resourceContext adds the condition keys of tags that an object has.
func resourceContext(context world.Context, tags []Tag) world.Context {
	for _, t := range tags {
		context["aws:ResourceTag/"+t.Key] = []string{t.Value}
		context["ec2:ResourceTag/"+t.Key] = []string{t.Value}
	}
	return context
}

// mayCreate asks whether the caller may make an object of this kind, with those
// of the tags that are for it, which it returns; tags need a permission of their
// own. It does not ask Proceed.
func mayCreate(c *world.Call, k kind, specifications []tagSpecification, more world.Context) ([]Tag, error) {
	tags := tagsFor(specifications, k.resource)
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	context := requestContext(tags)
	maps.Copy(context, more)
	arn := c.ARN(k.resource + "/*")
	if err := c.Authorize(c.Action(), arn, context); err != nil || len(tags) == 0 {
		return tags, err
	}
	context["ec2:CreateAction"] = []string{c.Request.Action}
	return tags, c.Authorize("ec2:CreateTags", arn, context)
}

// mayChange asks whether the caller may do this to an object, and proceeds.
func mayChange(c *world.Call, k kind, o object) error {
	m := o.common()
	if err := c.Authorize(c.Action(), c.ARN(k.resource+"/"+m.id), resourceContext(world.Context{}, m.Tags)); err != nil {
		return err
	}
	return c.Proceed()
}

// change is the object with this id that the caller may do this to; it proceeds.
func change[T object](c *world.Call, k kind, list []T, id string) (T, error) {
	o, err := find(c, k, list, id)
	if err == nil {
		err = mayChange(c, k, o)
	}
	return o, err
}
