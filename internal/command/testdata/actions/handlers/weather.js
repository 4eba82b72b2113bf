const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({ temperature: 21, condition: "clear", location: input.params.location, principal: input.context.principal }));
