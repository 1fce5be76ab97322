package io.pipelane.lanes.process.channel;

import io.pipelane.lanes.process.channel.Message.Build;
import io.pipelane.lanes.process.channel.Message.Built;
import io.pipelane.lanes.process.channel.Message.CaptureAgain;
import io.pipelane.lanes.process.channel.Message.Check;
import io.pipelane.lanes.process.channel.Message.Close;
import io.pipelane.lanes.process.channel.Message.Closed;
import io.pipelane.lanes.process.channel.Message.Failed;
import io.pipelane.lanes.process.channel.Message.Finished;
import io.pipelane.lanes.process.channel.Message.Grow;
import io.pipelane.lanes.process.channel.Message.Grown;
import io.pipelane.lanes.process.channel.Message.Noted;
import io.pipelane.lanes.process.channel.Message.Place;
import io.pipelane.lanes.process.channel.Message.Placed;
import io.pipelane.lanes.process.channel.Message.Ran;
import io.pipelane.lanes.process.channel.Message.Run;
import io.pipelane.lanes.process.channel.Message.Shrink;
import io.pipelane.lanes.process.channel.Message.Shrunk;
import io.pipelane.lanes.process.channel.Message.Tidy;
import io.pipelane.lanes.process.channel.Message.WarmUp;
import io.pipelane.lanes.process.channel.Message.WarmedUp;

/** The numbers that messages have in a ring. */
final class MessageType {
  private static final int BUILD = 1;
  private static final int CLOSE = 2;
  private static final int RUN = 3;
  private static final int GROWN = 4;
  private static final int SHRINK = 5;
  private static final int TIDY = 6;
  private static final int WARM_UP = 7;
  private static final int CHECK = 8;
  private static final int PLACED = 9;
  private static final int CAPTURE_AGAIN = 10;
  private static final int BUILT = 11;
  private static final int CLOSED = 12;
  private static final int RAN = 13;
  private static final int GROW = 14;
  private static final int FAILED = 15;
  private static final int FINISHED = 16;
  private static final int NOTED = 17;
  private static final int WARMED_UP = 18;
  private static final int PLACE = 19;
  private static final int SHRUNK = 20;

  private MessageType() {}

  static int of(Message message) {
    return switch (message) {
      case Build _ -> BUILD;
      case Close _ -> CLOSE;
      case Shrink _ -> SHRINK;
      case CaptureAgain _ -> CAPTURE_AGAIN;
      case Tidy _ -> TIDY;
      case WarmUp _ -> WARM_UP;
      case Check _ -> CHECK;
      case Placed _ -> PLACED;
      case Place _ -> PLACE;
      case Run _ -> RUN;
      case Grown _ -> GROWN;
      case Built _ -> BUILT;
      case Closed _ -> CLOSED;
      case Shrunk _ -> SHRUNK;
      case Ran _ -> RAN;
      case Grow _ -> GROW;
      case Failed _ -> FAILED;
      case Finished _ -> FINISHED;
      case Noted _ -> NOTED;
      case WarmedUp _ -> WARMED_UP;
    };
  }

  /** Reads a message of a type; anything that it cannot be is a {@link ProtocolException}. */
  static Message read(int type, MessageReader body) {
    Message message =
        switch (type) {
          case BUILD -> Build.read(body);
          case CLOSE -> new Close(body.number());
          case SHRINK -> new Shrink(body.number());
          case CAPTURE_AGAIN -> new CaptureAgain(body.number());
          case TIDY -> new Tidy();
          case WARM_UP -> WarmUp.read(body);
          case CHECK -> new Check();
          case PLACED -> new Placed(body.number());
          case PLACE -> Place.read(body);
          case RUN -> Run.read(body);
          case GROWN -> new Grown(body.size());
          case BUILT -> new Built(body.size(), body.size());
          case CLOSED -> new Closed();
          case SHRUNK -> new Shrunk(body.size());
          case RAN -> Ran.read(body);
          case GROW -> new Grow(body.size(), body.size());
          case FAILED -> Failed.read(body);
          case FINISHED -> Finished.read(body);
          case NOTED -> Noted.read(body);
          case WARMED_UP -> new WarmedUp();
          default -> throw new ProtocolException("a message of type " + type);
        };
    body.end();
    return message;
  }
}
