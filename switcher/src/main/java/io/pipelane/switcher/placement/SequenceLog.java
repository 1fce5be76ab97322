package io.pipelane.switcher.placement;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The record from which a sequence goes on whose device is lost: a state in host memory, and the
 * steps since. Safe for any thread.
 */
final class SequenceLog {
  /*
   * Memory is the collector's to free: a step that is made again may still read it when a later
   * state takes its place. It is charged for as long as it is here, and a new state is charged
   * beside the one that it replaces. Where there is no room for both, the old one stays with all
   * steps since, and the next is tried after twice as many.
   */
  private static final int MOST_STEPS = 32;
  private static final long LEAST_BYTES = 64 << 10;
  private static final long ALIGNMENT = 64;
  private static final int MOST_PATIENCE = 1 << 10;

  private final HostRoom room;
  private final SequenceStep of;
  private final List<InferenceRequest> since = new ArrayList<>();
  private List<InputTensor> state = List.of();
  private long stateBytes;
  private long sinceBytes;
  private int patience = 1;
  private boolean closed;

  /**
   * A sequence that begins.
   *
   * @param begins the step that it begins with, which is the first to be {@link #add added}
   */
  SequenceLog(HostRoom room, SequenceStep begins) {
    this.room = room;
    this.of = new SequenceStep(begins.owner(), begins.id(), false, false, List.of());
    if (!replace(begins.initial())) {
      close();
    }
  }

  /**
   * Adds a step that has been made; its inputs are copied.
   *
   * @return false when the host has no room, or the inputs are not there: nothing can go on from
   *     here any more
   */
  synchronized boolean add(InferenceRequest step) {
    long bytes = step.inputBytes();
    if (closed || step.isOnDevice() || !room.tryTake(bytes)) {
      close();
      return false;
    }
    sinceBytes += bytes;
    since.add(
        new InferenceRequest(
            step.model(),
            copied(step.inputs()),
            List.of(),
            OptionalLong.empty(),
            step.priority(),
            Optional.of(of)));
    return true;
  }

  private static List<InputTensor> copied(List<InputTensor> tensors) {
    List<InputTensor> copies = new ArrayList<>(tensors.size());
    for (InputTensor tensor : tensors) {
      MemorySegment data = tensor.data();
      MemorySegment copy = Arena.ofAuto().allocate(Math.max(1, data.byteSize()), ALIGNMENT);
      MemorySegment.copy(data, 0, copy, 0, data.byteSize());
      copies.add(
          new InputTensor(
              tensor.name(), tensor.type(), tensor.shape(), copy.asSlice(0, data.byteSize())));
    }
    return copies;
  }

  /** Whether the steps are many, or larger than the state that they have led to. */
  synchronized boolean isLong() {
    return !closed
        && (since.size() / patience >= MOST_STEPS
            || sinceBytes / patience > Math.max(LEAST_BYTES, stateBytes));
  }

  /**
   * Has a state take the place of the steps that have led to it; it is copied.
   *
   * @return false when the host has no room for it; the steps are there still
   */
  synchronized boolean replace(List<InputTensor> reached) {
    long bytes = reached.stream().mapToLong(tensor -> tensor.data().byteSize()).sum();
    if (closed || !room.tryTake(bytes)) {
      patience = Math.min(2 * patience, MOST_PATIENCE);
      return false;
    }
    state = copied(reached);
    room.giveBack(stateBytes + sinceBytes);
    stateBytes = bytes;
    sinceBytes = 0;
    since.clear();
    patience = 1;
    return true;
  }

  /** Whether nothing can go on from here. */
  synchronized boolean isClosed() {
    return closed;
  }

  /**
   * The steps that lead to where the sequence was, and one more behind them; the first begins with
   * the state that is here.
   */
  synchronized List<InferenceRequest> with(InferenceRequest next, SequenceStep as) {
    List<InferenceRequest> all = new ArrayList<>(since);
    all.add(next.asStep(Optional.of(as)));
    InferenceRequest first = all.getFirst();
    SequenceStep begins = first.sequence().orElseThrow();
    all.set(
        0,
        first.asStep(
            Optional.of(new SequenceStep(begins.owner(), begins.id(), true, begins.end(), state))));
    return all;
  }

  /** Gives its memory back; nothing goes on from here. */
  synchronized void close() {
    if (!closed) {
      closed = true;
      room.giveBack(stateBytes + sinceBytes);
      since.clear();
      state = List.of();
    }
  }
}
