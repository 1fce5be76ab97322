package io.pipelane.lanes.execution;

import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.StringTensors;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.function.BiConsumer;

/** An output that a run leaves in host memory. */
public final class HostOutput {
  private HostOutput() {}

  /** Copies an output to where it is wanted, encoding strings; what it is like. */
  public static OrtTensor.Form place(String name, OrtTensor output, Invocation invocation) {
    return place(name, output, invocation, MemorySegment::copyFrom);
  }

  /**
   * The same.
   *
   * @param copy of one memory, given first, from another that is not of strings
   */
  public static OrtTensor.Form place(
      String name,
      OrtTensor output,
      Invocation invocation,
      BiConsumer<MemorySegment, MemorySegment> copy) {
    OrtTensor.Form form = output.form();
    if (form.type() == TensorType.BYTES) {
      long bytes = StringTensors.encodedSize(output);
      StringTensors.encode(output, invocation.place(name, form.type(), form.shape(), bytes));
    } else {
      place(name, form, output.data(form), invocation, copy);
    }
    return form;
  }

  /** The same of an output that is known to lie in memory of the host, and is not of strings. */
  public static void place(
      String name, OrtTensor.Form form, MemorySegment data, Invocation invocation) {
    place(name, form, data, invocation, MemorySegment::copyFrom);
  }

  private static void place(
      String name,
      OrtTensor.Form form,
      MemorySegment data,
      Invocation invocation,
      BiConsumer<MemorySegment, MemorySegment> copy) {
    if (!invocation.takes(name, form.type(), form.shape(), data)) {
      MemorySegment place = invocation.place(name, form.type(), form.shape(), data.byteSize());
      copy.accept(place, data);
    }
  }
}
