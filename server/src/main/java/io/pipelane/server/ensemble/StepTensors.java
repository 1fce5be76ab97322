package io.pipelane.server.ensemble;

import io.netty.buffer.ByteBuf;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.ensemble.EnsemblePlan.Member;
import io.pipelane.server.protocol.inference.OutputTensor;
import io.pipelane.switcher.kept.KeptTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The tensors of one request on its way through an ensemble: its inputs, and what steps have made
 * for later ones, each until its last reader has run. Belongs to whoever runs the current step.
 */
final class StepTensors {
  private final List<Member> members;
  private final List<InputTensor> inputs;
  private final Map<String, Made> made = new HashMap<>();

  /** A tensor that a step has made, and how its memory is given back. */
  private record Made(InputTensor tensor, Optional<String> device, Runnable giveBack) {}

  /**
   * Nothing is made yet.
   *
   * @param members the steps that the request needs
   * @param inputs the request's, by the ensemble's names
   */
  StepTensors(List<Member> members, List<InputTensor> inputs) {
    this.members = members;
    this.inputs = inputs;
  }

  /** A tensor, under its name in the ensemble. */
  InputTensor get(String name) {
    Made known = made.get(name);
    return known != null
        ? known.tensor
        : inputs.stream()
            .filter(input -> input.name().equals(name))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("no step has made tensor " + name));
  }

  /**
   * Takes over a buffer that a step writes a tensor to.
   *
   * @return its memory
   */
  MemorySegment put(String name, TensorType type, Shape shape, ByteBuf buffer) {
    MemorySegment data = OutputTensor.memory(buffer);
    put(new Made(new InputTensor(name, type, shape, data), Optional.empty(), buffer::release));
    return data;
  }

  /** Notes the caller's memory, which a step writes a tensor to; it stays the caller's. */
  void put(String name, TensorType type, Shape shape, MemorySegment data) {
    put(new Made(new InputTensor(name, type, shape, data), Optional.empty(), () -> {}));
  }

  /** Takes over memory of a device that a step writes a tensor to. */
  void put(String name, TensorType type, Shape shape, KeptTensor kept) {
    put(new Made(kept.input(name, type, shape), Optional.of(kept.device()), kept::close));
  }

  /** In place of what an attempt at the same step was given. */
  private void put(Made tensor) {
    Made earlier = made.put(tensor.tensor.name(), tensor);
    if (earlier != null) {
      earlier.giveBack.run();
    }
  }

  /** Whether a step has written a tensor to the host, or is about to. */
  boolean isOnHost(String name) {
    Made known = made.get(name);
    return known != null && known.device.isEmpty();
  }

  /** The device that tensors are kept on now: one at most. */
  Optional<String> device() {
    return made.values().stream().flatMap(tensor -> tensor.device.stream()).findFirst();
  }

  /** The device that inputs of a step are kept on. */
  Optional<String> deviceOf(Member member) {
    return member.step().inputs().values().stream()
        .map(made::get)
        .filter(Objects::nonNull)
        .flatMap(tensor -> tensor.device.stream())
        .findFirst();
  }

  /** Gives back what nobody reads any more, once a step has ended. */
  void stepEnded(int position) {
    List<Member> later = members.subList(position + 1, members.size());
    List.copyOf(made.keySet()).stream()
        .filter(name -> later.stream().noneMatch(m -> m.step().inputs().containsValue(name)))
        .forEach(name -> Objects.requireNonNull(made.remove(name)).giveBack.run());
  }

  /** Gives everything back that steps have made; no step is under way. */
  void forget() {
    List<Made> all = new ArrayList<>(made.values());
    made.clear();
    all.forEach(tensor -> tensor.giveBack.run());
  }
}
