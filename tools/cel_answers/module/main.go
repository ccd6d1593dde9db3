// Command celanswers evaluates device selectors with Kubernetes' own evaluator.
//
// It reads {"devices": [...], "expressions": [...]} and writes, for each expression, whether it compiles and what it
// says of each device, with the cost it came to.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

type input struct {
	Devices     []device `json:"devices"`
	Expressions []string `json:"expressions"`
}

type device struct {
	Driver string `json:"driver"`
	resourceapi.Device
}

type answer struct {
	Expression string   `json:"expression"`
	Compile    string   `json:"compile,omitempty"`
	MaxCost    uint64   `json:"maxCost,omitempty"`
	Devices    []result `json:"devices,omitempty"`
}

type result struct {
	Matches bool   `json:"matches"`
	Error   string `json:"error,omitempty"`
	Cost    uint64 `json:"cost,omitempty"`
}

func main() {
	var in input
	must(json.NewDecoder(os.Stdin).Decode(&in))
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for _, expression := range in.Expressions {
		must(out.Encode(evaluate(compiler.CompileCELExpression(expression, cel.Options{}), in.Devices)))
	}
}

func evaluate(compiled cel.CompilationResult, devices []device) answer {
	said := answer{Expression: compiled.Expression}
	if compiled.Error != nil {
		said.Compile = compiled.Error.Error()
		return said
	}
	said.MaxCost = compiled.MaxCost
	for _, device := range devices {
		matches, details, err := compiled.DeviceMatches(context.Background(), cel.Device{
			Driver:                   device.Driver,
			AllowMultipleAllocations: device.AllowMultipleAllocations,
			Attributes:               device.Attributes,
			Capacity:                 device.Capacity,
		})
		one := result{Matches: matches}
		if err != nil {
			one.Error = strings.TrimSpace(err.Error())
		}
		if details != nil && details.ActualCost() != nil {
			one.Cost = *details.ActualCost()
		}
		said.Devices = append(said.Devices, one)
	}
	return said
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
