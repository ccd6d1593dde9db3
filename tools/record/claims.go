// What becomes of claims: which devices Reserve took, what PreBind wrote, which claim PostFilter gave back.
package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const (
	claimsPlugin   = "DynamicResources"
	inMemory       = "<extended-resources>"
	bindingPending = "BindingConditionsPending"
	// What a first look at a device's conditions takes at most.
	firstLook = 100 * time.Millisecond
)

var (
	claimsResource  = resourceapi.SchemeGroupVersion.WithResource("resourceclaims")
	slicesResource  = resourceapi.SchemeGroupVersion.WithResource("resourceslices")
	classesResource = resourceapi.SchemeGroupVersion.WithResource("deviceclasses")
)

type reservedClaim struct {
	Claim        string           `json:"claim"`
	Devices      []reservedDevice `json:"devices"`
	Config       []deviceConfig   `json:"config,omitempty"`
	NodeSelector *v1.NodeSelector `json:"nodeSelector,omitempty"`
}

type reservedDevice struct {
	Request                  string            `json:"request"`
	Driver                   string            `json:"driver"`
	Pool                     string            `json:"pool"`
	Device                   string            `json:"device"`
	AdminAccess              bool              `json:"adminAccess,omitempty"`
	Shared                   bool              `json:"shared,omitempty"`
	ConsumedCapacity         map[string]string `json:"consumedCapacity,omitempty"`
	BindingConditions        []string          `json:"bindingConditions,omitempty"`
	BindingFailureConditions []string          `json:"bindingFailureConditions,omitempty"`
	Tolerations              int               `json:"tolerations,omitempty"`
}

type deviceConfig struct {
	Source   string   `json:"source"`
	Requests []string `json:"requests,omitempty"`
	Driver   string   `json:"driver,omitempty"`
}

type requestMapping struct {
	Container string `json:"container"`
	Resource  string `json:"resource"`
	Request   string `json:"request"`
}

// claimServer is the part of the API server that claims need: versions that grow, names and UIDs that are made.
type claimServer struct {
	mutex   sync.Mutex
	tracker clienttesting.ObjectTracker
	counter int
	// While PostFilter is only tried: what it gave back is written down, not done.
	trying   bool
	returned string
	// Told by the event that binding begins to wait.
	pending func()
}

func (server *claimServer) next() string {
	server.mutex.Lock()
	defer server.mutex.Unlock()
	server.counter++
	return strconv.Itoa(server.counter)
}

func (server *claimServer) react(action clienttesting.Action) (bool, runtime.Object, error) {
	switch action.GetVerb() {
	case "create":
		claim := action.(clienttesting.CreateAction).GetObject().(*resourceapi.ResourceClaim)
		claim.ResourceVersion = server.next()
		if claim.Name == "" {
			claim.Name = claim.GenerateName + claim.ResourceVersion
		}
		if claim.UID == "" {
			claim.UID = types.UID("made-" + claim.ResourceVersion)
		}
		// The plugin waits in whole seconds until its caches know of the claim.
		defer time.Sleep(5 * poll)
		return true, claim, server.tracker.Create(claimsResource, claim.DeepCopy(), claim.Namespace)
	case "update":
		claim := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim)
		if server.trying {
			if action.GetSubresource() == "status" {
				server.returned = claim.Namespace + "/" + claim.Name
			}
			return true, claim, nil
		}
		claim.ResourceVersion = server.next()
		return false, nil, nil
	case "patch":
		handled, patched, err := clienttesting.ObjectReaction(server.tracker)(action)
		if claim, is := patched.(*resourceapi.ResourceClaim); is && err == nil {
			claim = claim.DeepCopy()
			claim.ResourceVersion = server.next()
			return true, claim, server.tracker.Update(claimsResource, claim, claim.Namespace)
		}
		return handled, patched, err
	case "delete":
		return server.trying, nil, nil
	}
	return false, nil, nil
}

func (server *claimServer) claims() (map[string]*resourceapi.ResourceClaim, error) {
	kind := resourceapi.SchemeGroupVersion.WithKind("ResourceClaim")
	list, err := server.tracker.List(claimsResource, kind, "")
	if err != nil {
		return nil, err
	}
	found := map[string]*resourceapi.ResourceClaim{}
	for _, claim := range list.(*resourceapi.ResourceClaimList).Items {
		found[claim.Namespace+"/"+claim.Name] = claim.DeepCopy()
	}
	return found, nil
}

// restore makes the claims what they were.
func (server *claimServer) restore(before map[string]*resourceapi.ResourceClaim) error {
	now, err := server.claims()
	if err != nil {
		return err
	}
	for key, claim := range now {
		was := before[key]
		if was == nil {
			err = server.tracker.Delete(claimsResource, claim.Namespace, claim.Name)
		} else if was.ResourceVersion != claim.ResourceVersion {
			was = was.DeepCopy()
			was.ResourceVersion = server.next()
			err = server.tracker.Update(claimsResource, was, was.Namespace)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listener hears the one event that tells of a wait.
type listener struct {
	events.FakeRecorder
	server *claimServer
}

func (heard *listener) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	if reason == bindingPending && heard.server.pending != nil {
		heard.server.pending()
	}
}

func (heard *listener) WithLogger(klog.Logger) events.EventRecorderLogger {
	return heard
}

// reserved reads what Reserve left in the plugin's own state.
func reserved(state fwk.CycleState, node string) ([]reservedClaim, []requestMapping) {
	data, err := state.Read(claimsPlugin)
	if err != nil {
		return nil, nil
	}
	fields := reflect.ValueOf(data).Elem()
	store := fields.FieldByName("claims")
	owned := int(store.FieldByName("numUserOwned").Int())
	taken := []reservedClaim{}
	mappings := []requestMapping{}
	information := fields.FieldByName("informationsForClaim")
	for index := range information.Len() {
		allocation := (*resourceapi.AllocationResult)(information.Index(index).FieldByName("allocation").UnsafePointer())
		if allocation == nil {
			continue
		}
		claim := (*resourceapi.ResourceClaim)(store.FieldByName("claims").Index(index).UnsafePointer())
		name := claim.Namespace + "/" + claim.Name
		if index >= owned {
			name = inMemory
			mappings = mappingsOf(fields, node)
		}
		taken = append(taken, claimOf(name, allocation))
	}
	return taken, mappings
}

func mappingsOf(fields reflect.Value, node string) []requestMapping {
	found := []requestMapping{}
	allocation := fields.FieldByName("nodeAllocations").MapIndex(reflect.ValueOf(node))
	given := allocation.FieldByName("containerResourceRequestMappings")
	for index := range given.Len() {
		one := given.Index(index)
		found = append(found, requestMapping{
			Container: one.FieldByName("ContainerName").String(),
			Resource:  one.FieldByName("ResourceName").String(),
			Request:   one.FieldByName("RequestName").String(),
		})
	}
	return found
}

func claimOf(name string, allocation *resourceapi.AllocationResult) reservedClaim {
	claim := reservedClaim{Claim: name, Devices: []reservedDevice{}, NodeSelector: allocation.NodeSelector}
	for _, result := range allocation.Devices.Results {
		device := reservedDevice{
			Request: result.Request, Driver: result.Driver, Pool: result.Pool, Device: result.Device,
			AdminAccess:              result.AdminAccess != nil && *result.AdminAccess,
			Shared:                   result.ShareID != nil,
			BindingConditions:        result.BindingConditions,
			BindingFailureConditions: result.BindingFailureConditions,
			Tolerations:              len(result.Tolerations),
		}
		if len(result.ConsumedCapacity) > 0 {
			device.ConsumedCapacity = map[string]string{}
			for capacity, amount := range result.ConsumedCapacity {
				device.ConsumedCapacity[string(capacity)] = amount.String()
			}
		}
		claim.Devices = append(claim.Devices, device)
	}
	for _, given := range allocation.Devices.Config {
		config := deviceConfig{Source: string(given.Source), Requests: given.Requests}
		if given.Opaque != nil {
			config.Driver = given.Opaque.Driver
		}
		claim.Config = append(claim.Config, config)
	}
	return claim
}

// bind runs PreBind of the claims' plugin alone. Where it fails, the pod is nowhere again, and its claims are as before.
func (world *cluster) bind(
	ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, made *decision,
) error {
	plugin := preBinding(profile)
	if plugin == nil {
		return nil
	}
	before, err := world.server.claims()
	if err != nil {
		return err
	}
	bounded, stop := context.WithCancel(ctx)
	defer stop()
	world.server.pending = func() { time.AfterFunc(firstLook, stop) }
	said := plugin.PreBind(bounded, state, pod, made.Chosen)
	world.server.pending = nil
	switch {
	case said.IsSuccess():
	case bounded.Err() != nil:
		made.Waits = true
	default:
		made.BindError = fmt.Sprintf("running PreBind plugin %q: %s", claimsPlugin, said.Message())
		profile.RunReservePluginsUnreserve(ctx, state, pod, made.Chosen)
		if err := world.sched.Cache.ForgetPod(klog.FromContext(ctx), pod); err != nil {
			return err
		}
		if err := world.server.restore(before); err != nil {
			return err
		}
	}
	return world.settleClaims(ctx)
}

// preBinding is the instance of the profile itself: a second one could not be made.
func preBinding(profile framework.Framework) fwk.PreBindPlugin {
	field := reflect.ValueOf(profile).Elem().FieldByName("preBindPlugins")
	plugins := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().([]fwk.PreBindPlugin)
	for _, plugin := range plugins {
		if plugin.Name() == claimsPlugin {
			return plugin
		}
	}
	return nil
}

// settleClaims waits until the plugin's own cache shows the claims as they are.
func (world *cluster) settleClaims(ctx context.Context) error {
	now, err := world.server.claims()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for !world.shows(now) {
		if time.Now().After(deadline) {
			return errors.New("the scheduler never heard of all claims")
		}
		time.Sleep(poll)
	}
	return ctx.Err()
}

func (world *cluster) shows(claims map[string]*resourceapi.ResourceClaim) bool {
	for _, profile := range world.sched.Profiles {
		tracker := profile.SharedDRAManager().ResourceClaims()
		known, err := tracker.List()
		if err != nil || len(known) != len(claims) {
			return false
		}
		for _, claim := range claims {
			seen, err := tracker.Get(claim.Namespace, claim.Name)
			if err != nil || seen.ResourceVersion != claim.ResourceVersion {
				return false
			}
		}
		// The profiles share what they know of devices.
		break
	}
	return true
}

// devicesSettled tells whether the plugin's caches hold every claim and slice, and the names that classes stand for.
func (world *cluster) devicesSettled() bool {
	claims, err := world.server.claims()
	if err != nil || !world.shows(claims) {
		return false
	}
	named := utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource)
	for _, profile := range world.sched.Profiles {
		manager := profile.SharedDRAManager()
		slices, err := manager.ResourceSlices().ListWithDeviceTaintRules()
		if err != nil || len(slices) < world.created[slicesResource] {
			return false
		}
		classes, err := manager.DeviceClasses().List()
		if err != nil || len(classes) < world.created[classesResource] {
			return false
		}
		for _, class := range classes {
			name := class.Spec.ExtendedResourceName
			if named && name != nil && *name != "" && manager.DeviceClassResolver().GetDeviceClass(v1.ResourceName(*name)) == nil {
				return false
			}
		}
		break
	}
	return true
}
