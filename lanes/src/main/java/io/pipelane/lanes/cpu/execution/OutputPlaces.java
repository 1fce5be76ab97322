package io.pipelane.lanes.cpu.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.HostOutput;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.OrtTensor.Form;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongUnaryOperator;

/**
 * Places for a binding's outputs, where what they were like in the last run says what they will be
 * like in the next. Belongs to the binding's thread.
 */
final class OutputPlaces {
  /*
   * An output without a place is allocated by ONNX Runtime, which has to be asked for its form and
   * its address afterwards. One with a place that is bound as it was costs nothing but the run.
   *
   * Places may not do. A shape may depend on values: the run fails before anything is written. An
   * output may not be written to its place, as it is one of the inputs: the first run with places
   * is asked where it has left them. And the lane may have no room for the places, or not for the
   * run beside them. After any of these no places are given any more in the whole session, so no
   * other run of it is made anew. A run that fails for another reason says nothing of its places.
   *
   * A place is taken from a run's beginning on, so only small outputs have places: the run's memory
   * stays about what it was.
   */
  private static final long MOST_BYTES = 64 << 10;

  private final IoBinding binding;
  private final AtomicBoolean areRefused; // By any binding of the session.
  private List<String> names = List.of();
  private List<Form> forms = List.of(); // One for each name, or none.
  private List<MemorySegment> places = List.of();
  private boolean areBound; // All of them, or some.
  private boolean areKept; // Whether a run has written to them.

  /**
   * Knows of no outputs yet.
   *
   * @param areRefused whether no binding of the session gives places any more
   */
  OutputPlaces(IoBinding binding, AtomicBoolean areRefused) {
    this.binding = binding;
    this.areRefused = areRefused;
  }

  /** Whether outputs can be given places in a run whose inputs are like those of the last. */
  boolean areKnown(List<String> wanted) {
    return !forms.isEmpty() && names.equals(wanted) && !areRefused.get();
  }

  /**
   * Gives the outputs places for the next run; false when there is no room for all of them, which
   * {@link #refuse} is to follow.
   *
   * @param allocator says where so many bytes are until the run is over, or 0 where nowhere
   */
  boolean give(LongUnaryOperator allocator) {
    areBound = true;
    List<MemorySegment> given = new ArrayList<>(forms.size());
    for (int i = 0; i < forms.size(); i++) {
      Form form = forms.get(i);
      long bytes = bytesOf(form);
      long address = allocator.applyAsLong(bytes);
      if (address == 0) {
        return false;
      }
      binding.output(names.get(i), address, bytes, form.type(), form.shape());
      given.add(MemorySegment.ofAddress(address).reinterpret(bytes));
    }
    places = given;
    return true;
  }

  private static long bytesOf(Form form) {
    return form.shape().elements() * form.type().byteWidth();
  }

  /** Copies what a run has written to its places to where it is wanted. */
  void take(Invocation invocation) {
    if (!areKept) {
      takeAsLeft(invocation);
      return;
    }
    for (int i = 0; i < places.size(); i++) {
      HostOutput.place(names.get(i), forms.get(i), places.get(i), invocation);
    }
  }

  private void takeAsLeft(Invocation invocation) {
    List<OrtTensor> results = binding.outputs();
    try {
      areKept = true;
      for (int i = 0; i < results.size(); i++) {
        OrtTensor result = results.get(i);
        areKept &= result.data(forms.get(i)).address() == places.get(i).address();
        HostOutput.place(names.get(i), result, invocation);
      }
      if (!areKept) {
        refuse();
      }
    } finally {
      results.forEach(OrtTensor::close);
    }
  }

  /** Places do not do: no binding of the session gives any from now on. */
  void refuse() {
    areRefused.set(true);
    forget();
  }

  /** Outputs have no places in the next run, and nothing is known of the one after it. */
  void forget() {
    if (areBound) {
      binding.clearOutputs();
      areBound = false;
    }
    places = List.of();
    forms = List.of();
  }

  /** A run without places has left outputs of these forms. */
  void learn(List<String> wanted, List<Form> left) {
    if (!areRefused.get() && mayHavePlaces(left)) {
      names = List.copyOf(wanted);
      forms = List.copyOf(left);
      areKept = false;
    }
  }

  private static boolean mayHavePlaces(List<Form> forms) {
    long bytes = 0;
    for (Form form : forms) {
      if (form.type() == TensorType.BYTES) {
        return false;
      }
      bytes += EphemeralRegion.align(Math.max(1, bytesOf(form)));
    }
    return bytes <= MOST_BYTES;
  }
}
