package io.pipelane.switcher.kept;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/** Memory of a device for one tensor, until it is closed: by the one who has it, after its runs. */
public final class KeptTensor implements AutoCloseable {
  private final KeptTensors owner;
  private final KeptTensors.Block block;
  private final MemorySegment memory;
  private boolean closed;

  KeptTensor(KeptTensors owner, KeptTensors.Block block, long bytes) {
    this.owner = owner;
    this.block = block;
    this.memory = block.state().memory().asSlice(0, bytes);
  }

  /** The device, by name. */
  public String device() {
    return owner.device();
  }

  MemorySegment memory() {
    return memory;
  }

  /** What a run on the device reads. */
  public InputTensor input(String name, TensorType type, Shape shape) {
    return new InputTensor(name, type, shape, memory, owner.isOnDevice());
  }

  /** Gives it back; no run reads or writes it any more. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      owner.giveBack(block);
    }
  }
}
