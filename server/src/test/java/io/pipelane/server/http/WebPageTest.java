package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class WebPageTest {
  private static final Pattern REFERENCE =
      Pattern.compile("(?:src=\"|href=\"|from \"\\./)(?:page/)?([a-z]+\\.[a-z]+)\"");

  private static Reply get(String path) {
    try (Conversation conversation = Conversation.usual()) {
      return conversation.send(Requests.get(path)).onlyReply();
    }
  }

  @Test
  void root_isThePage() {
    Reply page = get("/");
    assertEquals(200, page.status());
    assertEquals("text/html; charset=utf-8", page.header("content-type"));
    assertTrue(page.text().startsWith("<!doctype html>"));
    assertEquals(page.text(), get("/page/index.html").text());
  }

  @Test
  void files_haveTheTypesThatBrowsersInsistOn() {
    assertEquals("text/javascript; charset=utf-8", get("/page/main.js").header("content-type"));
    assertEquals("text/css; charset=utf-8", get("/page/page.css").header("content-type"));
    assertEquals("image/svg+xml", get("/page/icon.svg").header("content-type"));
  }

  @Test
  void files_runNothingButTheirOwnScripts() {
    for (String path : List.of("/", "/page/main.js")) {
      Reply reply = get(path);
      String policy = reply.header("content-security-policy");
      assertTrue(policy.startsWith("default-src 'none'; script-src 'self';"), policy);
      assertFalse(policy.contains("unsafe"), policy);
      assertEquals("nosniff", reply.header("x-content-type-options"));
    }
    assertFalse(get("/").text().contains("style="), "the policy forbids style attributes");
  }

  @Test
  void everyFileThatIsReferredTo_isThere() {
    Set<String> seen = new HashSet<>();
    Deque<String> open = new ArrayDeque<>(List.of("index.html"));
    while (!open.isEmpty()) {
      String file = open.pop();
      if (seen.add(file)) {
        Reply reply = get("/page/" + file);
        assertEquals(200, reply.status(), file);
        Matcher references = REFERENCE.matcher(reply.text());
        while (references.find()) {
          open.add(references.group(1));
        }
      }
    }
    assertTrue(seen.containsAll(Set.of("page.css", "main.js", "dom.js")), seen.toString());
  }

  @Test
  void scripts_neverReadMarkup() {
    List<String> scripts = WebPage.FILES.stream().filter(file -> file.endsWith(".js")).toList();
    assertFalse(scripts.isEmpty());
    for (String file : scripts) {
      String script = get("/page/" + file).text();
      assertFalse(script.matches("(?s).*(innerHTML|outerHTML|insertAdjacentHTML|eval\\().*"), file);
    }
  }

  @Test
  void otherFiles_areNotFound() {
    for (String path : List.of("/page/", "/page/..", "/page/%2e%2e", "/page/x/y", "/page")) {
      assertEquals(404, get(path).status(), path);
    }
  }
}
