package io.pipelane.lanes.process.worker;

import io.pipelane.config.Status;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.WorkerArea;
import io.pipelane.lanes.process.channel.WorkerArguments;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.io.OutputStream;
import java.util.function.BiFunction;

/**
 * A worker process that runs nothing, and says what a GPU's may say: a session holds memory that it
 * can give up, and a run asks for its output's place before it fails for want of memory.
 */
public final class PretendingWorker {
  /** What a session holds beside its constants. */
  public static final long HELD_BYTES = 1_000;

  /** What it holds once it has been shrunk. */
  public static final long SHRUNK_BYTES = 100;

  private PretendingWorker() {}

  /** Runs a worker until the server ends it. */
  public static void main(String[] words) throws IOException {
    run(words, PretendingWorker::answer);
  }

  /** The same with other answers. */
  static void run(String[] words, BiFunction<ChannelEnd, Message, Message> answers)
      throws IOException {
    WorkerArguments arguments = WorkerArguments.of(words);
    WorkerArea area =
        WorkerArea.open(arguments.export().process(), arguments.area(), arguments.channels());
    for (int i = 0; i < arguments.channels(); i++) {
      ChannelEnd end = area.workerEnd(i);
      Thread.ofPlatform().daemon().start(() -> answerAll(end, answers));
    }
    area.sayHello(WorkerArea.READY, "none");
    System.in.transferTo(OutputStream.nullOutputStream());
    Runtime.getRuntime().halt(0);
  }

  private static void answerAll(ChannelEnd end, BiFunction<ChannelEnd, Message, Message> answers) {
    while (true) {
      end.send(answers.apply(end, ChannelLoop.receive(end)));
    }
  }

  static Message answer(ChannelEnd end, Message message) {
    return switch (message) {
      case Message.Build _ -> new Message.Built(0, HELD_BYTES);
      case Message.Shrink _ -> new Message.Shrunk(SHRUNK_BYTES);
      case Message.Close _ -> new Message.Closed();
      case Message.Run run -> failAfterAsking(end, run);
      default -> throw new ProtocolException("the server said " + message);
    };
  }

  private static Message failAfterAsking(ChannelEnd end, Message.Run run) {
    int output = run.outputs().getFirst();
    end.send(new Message.Place(0, new PlacedTensor(output, TensorType.FP32, Shape.of(1), 0, 4)));
    Message place = ChannelLoop.receive(end);
    return new Message.Failed(Status.INSUFFICIENT_MEMORY, 4, 0, "no room in the lane: " + place);
  }
}
