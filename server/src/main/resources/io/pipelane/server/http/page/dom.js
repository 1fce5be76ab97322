// Elements without markup: whatever a model is called, it stays text.

/** Makes an element with properties and children; text is never read as markup. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    made[name] = value;
  }
  made.append(...children);
  return made;
}

/** Sets an element's text where it differs; the element has nothing but text. */
export function say(target, text) {
  const there = target.firstChild;
  if (!there) {
    if (text !== "") {
      target.append(text);
    }
  } else if (there.data !== text) {
    there.data = text;
  }
}

/** Sets an element's class where it differs. */
export function kind(target, name) {
  if (target.className !== name) {
    target.className = name;
  }
}

/** Sets what is told of an element that is pointed at, where it differs. */
export function tip(target, text) {
  if (target.title !== text) {
    target.title = text;
  }
}

/** Sets a property of an element's style where it differs. */
export function style(target, name, value) {
  if (target.style.getPropertyValue(name) !== value) {
    target.style.setProperty(name, value);
  }
}

/** Keeps as many children as there are values, made by one function and updated by another. */
export function children(parent, values, make, update) {
  while (parent.children.length > values.length) {
    parent.lastElementChild.remove();
  }
  values.forEach((value, index) => {
    if (index === parent.children.length) {
      parent.append(make());
    }
    update(parent.children[index], value);
  });
}

/** Makes elements the only children, in their order; one that stands right stays untouched. */
export function arrange(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) {
    if (!wanted.has(child)) {
      child.remove();
    }
  }
  let next = parent.firstElementChild;
  for (const element of elements) {
    if (next !== element && next?.nextElementSibling === element) {
      next.remove(); // It comes later, and moves alone.
      next = element;
    }
    if (next === element) {
      next = next.nextElementSibling;
    } else {
      parent.insertBefore(element, next);
    }
  }
}
