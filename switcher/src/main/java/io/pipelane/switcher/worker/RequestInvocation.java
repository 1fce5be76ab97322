package io.pipelane.switcher.worker;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.kept.KeptTensors;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * A request as a session sees it.
 *
 * @param owner whose run it is, see {@link Invocation#owner}
 * @param handler says where outputs lie on the host
 * @param kept says where outputs lie that stay on the device
 * @param atOnce whether the thread that runs must not wait for locks under which memory is mapped
 * @param whenPlaced told once all outputs have their places
 * @param nanoClock what the request's deadline goes by
 */
record RequestInvocation(
    InferenceRequest request,
    String owner,
    ResultHandler handler,
    KeptTensors kept,
    boolean atOnce,
    Runnable whenPlaced,
    LongSupplier nanoClock)
    implements Invocation {
  @Override
  public List<InputTensor> inputs() {
    return request.inputs();
  }

  @Override
  public List<String> outputs() {
    return request.outputs();
  }

  @Override
  public Priority priority() {
    return request.priority();
  }

  @Override
  public long patienceNanos() {
    return request.patienceNanos(nanoClock.getAsLong());
  }

  @Override
  public Optional<StateNumber> stateNumber() {
    return request.place().stateNumber();
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    return request
        .place()
        .keeper()
        .flatMap(
            keeper ->
                atOnce
                    ? kept.placeAtOnce(keeper, name, type, shape, byteSize)
                    : kept.place(keeper, name, type, shape, byteSize))
        .orElseGet(() -> handler.place(name, type, shape, byteSize));
  }

  @Override
  public MemorySegment placeOnHost(String name, TensorType type, Shape shape, long byteSize) {
    return handler.place(name, type, shape, byteSize);
  }

  @Override
  public MemorySegment placeOfCut(String name, TensorType type, Shape shape, long byteSize) {
    request.place().keeper().ifPresent(keeper -> kept.notPlaced(keeper, name, byteSize));
    return placeOnHost(name, type, shape, byteSize);
  }

  @Override
  public void placed() {
    whenPlaced.run();
  }
}
