package io.pipelane.lanes.execution;

import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.StringTensors;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.function.BiConsumer;

/** An output that a run leaves in host memory. */
public final class HostOutput {
  private HostOutput() {}

  /** Copies an output to where it is wanted, encoding strings. */
  public static void place(String name, OrtTensor output, Invocation invocation) {
    place(name, output, invocation, MemorySegment::copyFrom);
  }

  /**
   * The same.
   *
   * @param copy of one memory, given first, from another that is not of strings
   */
  public static void place(
      String name,
      OrtTensor output,
      Invocation invocation,
      BiConsumer<MemorySegment, MemorySegment> copy) {
    OrtTensor.Form form = output.form();
    if (form.type() == TensorType.BYTES) {
      long bytes = StringTensors.encodedSize(output);
      StringTensors.encode(output, invocation.place(name, form.type(), form.shape(), bytes));
    } else {
      MemorySegment data = output.data(form);
      if (!invocation.takes(name, form.type(), form.shape(), data)) {
        MemorySegment place = invocation.place(name, form.type(), form.shape(), data.byteSize());
        copy.accept(place, data);
      }
    }
  }
}
