package io.pipelane.server.ensemble;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.ensemble.EnsemblePlan.Member;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.protocol.OutputTensor;
import io.pipelane.server.protocol.TensorShapes;
import io.pipelane.server.statistics.BatchRows;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** One request on its way through an ensemble. */
final class EnsembleRun implements InferenceService.Ticket {
  /*
   * Steps run one after another, so all fields but those of `cancel` belong to whoever runs the
   * current step: the submitter at first, then the lane's thread that ends a step and submits the
   * next. What a step makes for the caller is placed with the caller at once; what it makes for
   * another step lies in a buffer until the run ends. Buffers are given back before the caller is
   * told the end, as no step reads them any more.
   */
  private final HeldSteps steps;
  private final List<Member> members;
  private final InferenceRequest request;
  private final ResultHandler handler;
  private final InferenceStatistics statistics;
  private final TransferBuffers transfers;
  private final Map<String, InputTensor> tensors = new HashMap<>();
  private final List<ByteBuf> buffers = new ArrayList<>();
  private InferenceTimings total = new InferenceTimings(0, 0, 0);
  private int position;

  private boolean cancelled;
  private int submitted = -1;
  private InferenceService.@Nullable Ticket ticket;

  /**
   * A run that has not begun.
   *
   * @param steps held until the handler is told the end
   */
  EnsembleRun(
      HeldSteps steps,
      InferenceRequest request,
      ResultHandler handler,
      InferenceStatistics statistics,
      TransferBuffers transfers) {
    this.steps = steps;
    this.members = steps.members();
    this.request = request;
    this.handler = handler;
    this.statistics = statistics;
    this.transfers = transfers;
    request.inputs().forEach(input -> tensors.put(input.name(), input));
  }

  /**
   * Submits the first step.
   *
   * @throws StatusException when it is refused; the handler is then not called
   */
  void start() {
    submit();
  }

  private void submit() {
    int number = position;
    Member member = members.get(number);
    StepEnd end = new StepEnd(member);
    InferenceService.Ticket next;
    try {
      InferenceRequest step = stepRequest(member);
      end.account.decoded(
          OptionalLong.empty(), BatchRows.of(member.model().inputs(), step.inputs()));
      next = steps.holds().get(number).submit(step, end);
    } catch (StatusException e) {
      end.account.failed(e.status());
      throw steps.named(position, e);
    } catch (RuntimeException | Error e) {
      end.account.failed(Status.INTERNAL);
      throw e;
    }
    boolean withdraw;
    synchronized (this) {
      // A step may have ended, and the next be under way, before its submission returns.
      if (number > submitted) {
        submitted = number;
        ticket = next;
      }
      withdraw = cancelled;
    }
    if (withdraw) {
      next.cancel();
    }
  }

  private InferenceRequest stepRequest(Member member) {
    List<InputTensor> inputs = new ArrayList<>();
    for (TensorSpec spec : member.model().inputs()) {
      InputTensor tensor = tensors.get(member.step().inputs().get(spec.name()));
      if (tensor == null) {
        throw new IllegalStateException("no step has made input " + spec.name());
      }
      TensorShapes.check("input \"" + spec.name() + "\"", spec, tensor.type(), tensor.shape());
      inputs.add(new InputTensor(spec.name(), tensor.type(), tensor.shape(), tensor.data()));
    }
    List<String> outputs =
        member.model().outputs().stream()
            .map(TensorSpec::name)
            .filter(name -> isNeeded(member.step().outputs().get(name)))
            .toList();
    return new InferenceRequest(
        member.model().version(),
        inputs,
        outputs,
        request.deadlineNanos(),
        request.priority(),
        request.sequence(),
        request.stateNumber(),
        request.device());
  }

  private boolean isNeeded(@Nullable String tensor) {
    return tensor != null
        && (request.outputs().contains(tensor)
            || members.stream().anyMatch(m -> m.step().inputs().containsValue(tensor)));
  }

  @Override
  public void cancel() {
    InferenceService.Ticket current;
    synchronized (this) {
      cancelled = true;
      current = ticket;
    }
    if (current != null) {
      current.cancel();
    }
  }

  private synchronized boolean isCancelled() {
    return cancelled;
  }

  private void stepEnded(InferenceTimings timings) {
    total =
        new InferenceTimings(
            total.queueNanos() + timings.queueNanos(),
            total.stallNanos() + timings.stallNanos(),
            total.executeNanos() + timings.executeNanos());
    position++;
    if (position == members.size()) {
      release();
      handler.completed(total);
      return;
    }
    try {
      if (isCancelled()) {
        throw new StatusException(Status.CANCELLED, "the caller has gone");
      }
      submit();
    } catch (StatusException e) {
      fail(e);
    } catch (RuntimeException | Error e) { // Held steps and buffers would stay lent.
      fail(new StatusException(Status.INTERNAL, "a fault of the server between steps", e));
    }
  }

  private void fail(StatusException error) {
    release();
    handler.failed(error);
  }

  private void release() {
    buffers.forEach(ByteBuf::release);
    buffers.clear();
    tensors.clear();
  }

  /** Memory for what a step makes for another one. */
  private MemorySegment keep(String tensor, TensorType type, Shape shape, long byteSize) {
    if (byteSize > Integer.MAX_VALUE) {
      throw new StatusException(
          Status.TOO_LARGE,
          "tensor \"%s\" has %d bytes, the limit is %d"
              .formatted(tensor, byteSize, Integer.MAX_VALUE));
    }
    int size = (int) byteSize;
    ByteBuf buffer = transfers.take(Math.max(1, size), PooledByteBufAllocator.DEFAULT);
    buffers.add(buffer);
    buffer.writerIndex(size);
    MemorySegment data = OutputTensor.memory(buffer);
    tensors.put(tensor, new InputTensor(tensor, type, shape, data));
    return data;
  }

  /** Takes what a step makes. */
  private final class StepEnd implements ResultHandler {
    private final Member member;
    private final RequestAccount account;

    StepEnd(Member member) {
      this.member = member;
      this.account = statistics.begin(member.model().version());
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      String tensor = member.step().outputs().getOrDefault(name, name);
      return request.outputs().contains(tensor)
          ? handler.place(tensor, type, shape, byteSize)
          : keep(tensor, type, shape, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      account.ran(timings);
      account.answered();
      stepEnded(timings);
    }

    @Override
    public void failed(StatusException error) {
      account.failed(error.status());
      fail(steps.named(position, error));
    }
  }
}
