package io.pipelane.server.hosts;

import static io.pipelane.config.StatusException.unavailable;

import io.pipelane.config.StatusException;
import io.pipelane.server.hosts.Forward.Answer;
import io.pipelane.server.hosts.Forward.Failure;
import io.pipelane.server.hosts.Hosts.Elsewhere;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * A request's way to other hosts, one after another until one answers, and back here when none
 * does. Belongs to the request's event loop.
 */
public final class ForwardingAttempts implements Forward.Receiver {
  private static final String IN_TIME =
      " within the request's timeout; raise that, or send it when there is less to do";

  private final Elsewhere elsewhere;
  private final Hosts hosts;
  private final boolean once;
  private final boolean canComeBack;
  private final Deque<RemoteHost> left;
  private final Forward.Request request;
  private final End end;
  private @Nullable RemoteHost host;
  private @Nullable RemoteHost full;
  private @Nullable ForwardAttempt attempt;
  private @Nullable Answer refusal;
  private boolean hasLost;

  /**
   * The receiver of what comes of attempts; one of these is called, once, unless it is cancelled.
   */
  public interface End {
    /** With the answer of another host, whatever it says; the receiver's to release. */
    void answered(Answer answer);

    /** No other host has answered, and this one can. */
    void here();

    void failed(StatusException error);
  }

  /**
   * Attempts that have not begun.
   *
   * @param end told the end on the request's event loop
   */
  ForwardingAttempts(Elsewhere elsewhere, Forward.Request request, End end) {
    this.elsewhere = elsewhere;
    this.hosts = elsewhere.hosts();
    this.once = elsewhere.plan().keepsState();
    this.canComeBack = elsewhere.canComeBack();
    this.left = new ArrayDeque<>(elsewhere.plan().hosts());
    this.request = request;
    this.end = end;
  }

  /** Goes to the next host; the end may be told before this returns. */
  void next() {
    attempt = null;
    if (request.leftNanos() == 0) {
      endOverdue();
      return;
    }
    for (host = left.poll(); host != null; host = left.poll()) {
      if (isPutOff(host)) {
        if (!canComeBack) {
          left.add(host);
        }
        continue;
      }
      if (hosts.mayAsk(host)) {
        attempt = hosts.send(host, request, this);
        return;
      }
      if (hosts.isFull(host)) {
        full = host;
        if (once) { // Its sequences are nowhere else.
          fail(unanswered());
          return;
        }
      }
    }
    if (canComeBack) {
      dropRefusal();
      end.here();
    } else if (refusal != null && (!hasLost || refusal.isForTheMoment())) {
      passOn(refusal);
    } else { // A host that was lost may have it, whatever others say.
      fail(unanswered());
    }
  }

  private void fail(StatusException error) {
    dropRefusal();
    end.failed(error);
  }

  private void passOn(Answer last) {
    refusal = null; // It is the receiver's now.
    end.answered(last);
  }

  private void dropRefusal() {
    if (refusal != null) {
      refusal.release();
      refusal = null;
    }
  }

  /** Whether a host has been late, or is being tried by another request, since it was chosen. */
  private boolean isPutOff(RemoteHost chosen) {
    return !once && hosts.isLate(chosen) && (canComeBack || !left.stream().allMatch(hosts::isLate));
  }

  private StatusException unanswered() {
    return full == null
        ? elsewhere.unanswered()
        : unavailable(
            "host " + full + " has as many requests of this one as hosts.connections allows");
  }

  @Override
  public void answered(Answer answer) {
    boolean isFinal = once ? !answer.isOfHostWithoutTheModel() : !answer.isRefusal();
    if (!isFinal && refusal != null && refusal.tellsMoreThan(answer)) {
      answer.release();
      next();
      return;
    }
    dropRefusal();
    if (isFinal) {
      end.answered(answer);
    } else {
      refusal = answer;
      next();
    }
  }

  @Override
  public void failed(Failure failure) {
    RemoteHost asked = host;
    boolean isLost = failure == Failure.UNREACHED || failure == Failure.BROKEN;
    hasLost |= isLost;
    if (asked != null && isLost) {
      hosts.suspect(asked);
    }
    if (failure == Failure.TOO_LARGE) {
      end(
          asked
              + " has given a larger answer than may pass through here, which are 2 GiB, or than the memory"
              + " outside Java's heap has room for (-XX:MaxDirectMemorySize); ask for less, or ask it"
              + " directly");
    } else if (failure == Failure.OVERDUE) {
      end(asked + " has not answered" + IN_TIME);
    } else if (failure == Failure.LATE) {
      end(asked + " has not answered in time; the request may still run there");
    } else if (failure == Failure.BROKEN && once) {
      end(asked + " has gone during a step of a sequence; begin the sequence anew");
    } else {
      next();
    }
  }

  private void end(String message) {
    fail(unavailable("host " + message));
  }

  @Override
  public void unreachedAfterAll() {
    if (host != null) {
      hosts.suspect(host);
    }
  }

  /**
   * There is no time to ask anybody else, this host included; who may answer later has said why.
   */
  private void endOverdue() {
    if (refusal != null && refusal.isForTheMoment()) {
      passOn(refusal);
    } else {
      fail(unavailable("no other host could be asked" + IN_TIME));
    }
  }

  /** Gives the request up; nobody is told anything any more. */
  public void cancel() {
    if (attempt != null) {
      attempt.cancel();
    }
    dropRefusal();
  }
}
