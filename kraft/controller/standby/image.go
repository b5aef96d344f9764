package standby

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Types of the metadata records that matter here (Kafka: MetadataRecordType).
const (
	configuration        = 4
	featureLevel         = 12
	beginTransaction     = 23
	endTransaction       = 24
	abortTransaction     = 25
	registerController   = 27
	unregisterController = 29
)

const metadataVersion = "metadata.version"

// controllerRegistrationLevel is the metadata.version from which on controllers register (3.7-IV0, KIP-919).
const controllerRegistrationLevel = 15

// registration is a RegisterControllerRecord.
type registration struct {
	incarnation [16]byte
	endpoints   []wire.Endpoint
}

// image is what the committed records say: finalized features and registered controllers. An image that is shown is not changed any more.
type image struct {
	offset      kraft.Offset // of the last record; -1: none
	epoch       kraft.Epoch  // of the last batch
	features    map[string]int16
	controllers map[kraft.NodeID]registration
	settings    map[string]map[string]string // dynamic ones of brokers, by their ids; "": of all

	before *image // while a metadata transaction is open: what is shown meanwhile (KIP-868)
}

func newImage() *image {
	return &image{offset: -1, features: map[string]int16{}, controllers: map[kraft.NodeID]registration{}, settings: map[string]map[string]string{}}
}

func (m *image) clone() *image {
	c := *m
	c.features, c.controllers, c.settings = maps.Clone(m.features), maps.Clone(m.controllers), maps.Clone(m.settings)
	return &c
}

// shown is the image without an open transaction.
func (m *image) shown() *image {
	if m.before != nil {
		return m.before
	}
	return m
}

// apply reads whole batches from position on. What cannot be read, or is of no concern here, is passed over: a node that only stores
// records need not understand them.
func (m *image) apply(batches []byte, position kraft.Offset) (kraft.Offset, error) {
	for len(batches) > 0 {
		b, rest, err := wire.NextBatch(batches)
		if err != nil {
			return position, fmt.Errorf("committed records from offset %d: %w", position, err)
		}
		batches, position, m.epoch = rest, b.LastOffset()+1, b.Epoch
		if b.Control() {
			continue
		}
		err = b.Each(func(r wire.Record) error {
			m.record(r.Value)
			return nil
		})
		if err != nil {
			return position, fmt.Errorf("committed batch at offset %d: %w", b.BaseOffset, err)
		}
		m.offset = b.LastOffset()
	}
	return position, nil
}

// interesting looks at the type alone: nearly all records are of others.
func interesting(value []byte) bool {
	if len(value) < 3 || value[0] != 1 {
		return false
	}
	switch value[1] {
	case configuration:
		return len(value) > 3 && value[3] == brokerResource
	case featureLevel, beginTransaction, endTransaction, abortTransaction, registerController, unregisterController:
		return true
	}
	return false
}

func (m *image) record(value []byte) {
	if !interesting(value) {
		return
	}
	r, err := wire.DecodeMetadata(value)
	if err != nil {
		return
	}
	switch r.Type {
	case featureLevel:
		var f struct {
			Name         string
			FeatureLevel int16
		}
		if decode(&r, &f) {
			if m.features[f.Name] = f.FeatureLevel; f.FeatureLevel == 0 {
				delete(m.features, f.Name)
			}
		}
	case configuration:
		m.configure(&r)
	case beginTransaction:
		m.before = m.clone()
	case endTransaction:
		m.before = nil
	case abortTransaction:
		if m.before != nil {
			epoch := m.epoch
			*m = *m.before
			m.epoch, m.before = epoch, nil
		}
	case registerController:
		m.register(&r)
	case unregisterController:
		var c struct{ ControllerID kraft.NodeID }
		if decode(&r, &c) {
			delete(m.controllers, c.ControllerID)
		}
	}
}

// configure takes a ConfigRecord of a broker or of all of them. Images that were made before share the settings of a name, so they are copied.
func (m *image) configure(r *wire.MetadataRecord) {
	var c struct {
		ResourceName string
		Name         string
		Value        *string
	}
	if !decode(r, &c) {
		return
	}
	of := maps.Clone(m.settings[c.ResourceName])
	if of == nil {
		of = map[string]string{}
	}
	if delete(of, c.Name); c.Value != nil {
		of[c.Name] = *c.Value
	}
	m.settings[c.ResourceName] = of
}

func (m *image) register(r *wire.MetadataRecord) {
	var c struct {
		ControllerID  kraft.NodeID
		IncarnationID kraft.DirectoryID
		EndPoints     []struct {
			Name string
			Host string
			Port uint16
		}
	}
	if !decode(r, &c) {
		return
	}
	reg := registration{incarnation: c.IncarnationID}
	for _, e := range c.EndPoints {
		reg.endpoints = append(reg.endpoints, wire.Endpoint{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	m.controllers[c.ControllerID] = reg
}

// decode takes a record's fields by Kafka's names, whose case encoding/json does not mind.
func decode(r *wire.MetadataRecord, to any) bool {
	var whole struct{ Data json.RawMessage }
	return json.Unmarshal(r.AppendJSON(nil, wire.JSONOptions{Secrets: true}), &whole) == nil && json.Unmarshal(whole.Data, to) == nil
}

// describe adds the finalized features, by name, to an answer to ApiVersions.
func (m *image) describe(r *kmsg.ApiVersionsResponse) {
	for _, name := range slices.Sorted(maps.Keys(m.features)) {
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, m.features[name], m.features[name]
		r.FinalizedFeatures = append(r.FinalizedFeatures, f)
	}
	r.FinalizedFeaturesEpoch = int64(m.offset)
}
