package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import io.pipelane.server.net.Backends;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateEventsTest {
  @TempDir Path folder;

  private static final String ASK = Requests.get("/v2/pipelane/events");

  private static int events(Conversation conversation) {
    String text = new String(conversation.received(), StandardCharsets.UTF_8);
    return text.split("event: state\ndata: \\{\"name\":\"pipelane\"", -1).length - 1;
  }

  private static void passSecond(Conversation conversation) {
    conversation.channel.advanceTimeBy(StateEvents.INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
    conversation.channel.runScheduledPendingTasks();
    conversation.channel.runPendingTasks();
  }

  @Test
  void events_beginAtOnceAndComeEverySecond() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.channel.freezeTime();
      conversation.send(ASK);
      String text = new String(conversation.received(), StandardCharsets.UTF_8);
      assertTrue(text.startsWith("HTTP/1.1 200 OK\r\n"), text);
      assertTrue(text.contains("\r\nContent-Type: text/event-stream\r\n"), text);
      assertFalse(text.contains("Content-Length"), text);
      assertTrue(text.endsWith("}\n\n"), text);
      assertEquals(1, events(conversation));
      passSecond(conversation);
      passSecond(conversation);
      assertEquals(3, events(conversation));
    }
  }

  @Test
  void changes_beginWithAWholeState_andLeaveOutWhatStaysAsItIs() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.channel.freezeTime();
      conversation.send(Requests.get("/v2/pipelane/changes"));
      String first = new String(conversation.received(), StandardCharsets.UTF_8);
      assertTrue(first.contains("\r\n\r\nevent: state\ndata: {\"name\":\"pipelane\""), first);
      assertTrue(first.contains("\"models\":[{\"name\""), first);
      passSecond(conversation);
      String both = new String(conversation.received(), StandardCharsets.UTF_8);
      String second = both.substring(both.indexOf("event: changes\n"));
      assertTrue(second.contains("\"models\":[],\"devices\""), second);
      assertTrue(second.endsWith("}\n\n"), second);
    }
  }

  @Test
  void events_behindOtherAnswers_comeLast() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.get("/v2/health/live") + ASK + Requests.get("/v2/health/live"));
      String text = new String(conversation.received(), StandardCharsets.UTF_8);
      assertTrue(text.indexOf("{\"live\":true}") < text.indexOf("text/event-stream"), text);
      assertEquals(1, text.split("\\{\"live\":true\\}", -1).length - 1, text);
    }
  }

  @Test
  void headRequest_isToldTheHeadAlone() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.head("HEAD /v2/pipelane/events", ""));
      assertEquals(0, events(conversation));
      assertFalse(conversation.channel.isOpen());
    }
  }

  @Test
  void listeners_beyondTheLimit_areTurnedAwayUntilOneGoes() {
    try (Listeners listeners = new Listeners()) {
      for (int i = 0; i < StateEvents.MAXIMUM_LISTENERS; i++) {
        assertEquals(1, events(listeners.open()));
      }
      Reply refused = listeners.open().onlyReply();
      assertEquals(503, refused.status());
      assertTrue(refused.text().contains("32 listeners"), refused.text());
      listeners.conversations.getFirst().disconnect();
      assertEquals(1, events(listeners.open()));
    }
  }

  @Test
  void keyThatIsTakenBack_endsTheStream() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        Conversation conversation =
            new Conversation(
                Backends.of(FakeCatalog.usual(), EchoService.inline(), access), Runnable::run)) {
      conversation.channel.freezeTime();
      conversation.send(Requests.head("GET /v2/pipelane/events", "X-API-Key: observe\r\n"));
      assertEquals(1, events(conversation));
      Keys.replace(access, folder, Keys.entry("other", "roles: [observe]"));
      passSecond(conversation);
      assertEquals(1, events(conversation));
      assertFalse(conversation.channel.isOpen());
    }
  }

  @Test
  void state_toldOnce_isTheSame() {
    try (Conversation conversation = Conversation.usual()) {
      Reply state = conversation.send(Requests.get("/v2/pipelane/state")).onlyReply();
      assertEquals("application/json", state.header("content-type"));
      assertTrue(
          state
              .text()
              .contains(
                  "\"models\":[{\"name\":\"echo\",\"version\":\"2\",\"state\":\"READY\","
                      + "\"reason\":\"\",\"class\":\"online\"},{\"name\":\"broken\""),
          state.text());
    }
  }

  /** Connections of one server. */
  private static final class Listeners implements AutoCloseable {
    final List<Conversation> conversations = new ArrayList<>();

    Conversation open() {
      Conversation conversation =
          conversations.isEmpty()
              ? Conversation.usual()
              : Conversation.beside(conversations.getFirst());
      conversations.add(conversation);
      return conversation.send(ASK);
    }

    @Override
    public void close() {
      conversations.forEach(Conversation::close);
    }
  }
}
